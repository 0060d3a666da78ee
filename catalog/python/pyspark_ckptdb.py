"""PySpark looks for data sources in modules whose names begin like this one's."""
from ckptdb.spark import Source as DefaultSource

__all__ = ["DefaultSource"]
