# Buckets of S3: each request signed, as the server computes it anew; lists in pages; what is changed is not read as what it was; lists
# that lie, or do not end; no key in what is said or kept, and none goes to another host.
bucket_files
port='' other=''
serve www || exit
unset AWS_PROFILE AWS_REGION AWS_SESSION_TOKEN AWS_ENDPOINT_URL_S3 AWS_SHARED_CREDENTIALS_FILE AWS_CONFIG_FILE
export AWS_ENDPOINT_URL=http://127.0.0.1:$port/s3 AWS_ACCESS_KEY_ID=AKIATEST AWS_SECRET_ACCESS_KEY=geheim+secret
export AWS_DEFAULT_REGION=eu-test-1 CKPTDB_TIMEOUT=30
plain() { sed -E -e "s|$PWD|PWD|g; s/$port/PORT/g; s/$other/OTHER/g"; }
asked() { sort log | uniq -c | sed 's/^ *//' | plain; rm -f log; }

echo '--- a bucket is a folder'
try import 's3://bucket/a + b&c' 2>&1 | plain
asked
bucket_same
echo '--- again; a file that changed'
try import 's3://bucket/a + b&c' 2>&1 | plain
touch www/*/*/deep/part.safetensors
try get part.safetensors model.embed_tokens.weight 2>&1 | plain
try import 's3://bucket/a + b&c' 2>&1 | plain
echo '--- checkpoints that were moved to a bucket, and back'
"$CKPTDB_BIN" -d here.db relocate "www/a + b&c" 's3://bucket/a + b&c'
"$CKPTDB_BIN" -d here.db "SELECT path FROM checkpoint"
try -d here.db import 's3://bucket/a + b&c' 2>&1 | plain
"$CKPTDB_BIN" -d here.db relocate 's3://bucket/a + b&c/' "www/a + b&c"
"$CKPTDB_BIN" -d here.db "SELECT path FROM checkpoint" | plain
echo '--- lists that lead elsewhere, lie, or do not end'
for bucket in none evil nul dots endless html long; do
    STATUS=always try -d :memory: import "s3://$bucket/a + b&c/ü%20" 2>&1 | plain
done
rm log
echo '--- who asks: a wrong key, nobody, a session, whose token does not go to another host'
deep='a + b&c/ü%20/deep'
AWS_SECRET_ACCESS_KEY=geheim try -d :memory: import "s3://bucket/$deep" 2>&1 | plain
AWS_SESSION_TOKEN=geheim-session try -d :memory: import "s3://session/$deep" 2>&1 | plain
rm log
AWS_SESSION_TOKEN=geheim-session try -d :memory: import "s3://moved/$deep" 2>&1 | plain
asked
AWS_ACCESS_KEY_ID='' try -d :memory: import "s3://open/$deep" 2>&1 | plain
grep -c auth log
grep -c geheim "$CKPTDB" || true
