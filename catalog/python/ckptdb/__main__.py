"""python -m ckptdb: the program."""
from .program import main

main()
