# Chunks that cut through bytes and blocks of what is converted: values as a naive reader has them.
export STATUS=always
python3 "${BASH_SOURCE[0]%.sh}.py" "$CKPTDB_BIN"
