# Buckets of Google's: lists in pages, generations, and who is asking: a service account, whose signature the server checks, or a
# user; no token in what is said or kept, or sent to another host.
bucket_files
port='' other=''
serve www || exit
at=http://127.0.0.1:$port
unset GOOGLE_APPLICATION_CREDENTIALS CLOUDSDK_CONFIG CLOUDSDK_API_ENDPOINT_OVERRIDES_STORAGE
export STORAGE_EMULATOR_HOST=127.0.0.1:$port CKPTDB_TIMEOUT=30
plain() { sed -E -e "s|$PWD|PWD|g; s/$port/PORT/g; s/$other/OTHER/g; s/(ifGenerationMatch=)[0-9]+/\1G/"; }
asked() { sort log | uniq -c | sed 's/^ *//' | plain; rm -f log; }

echo '--- a bucket is a folder'
try import 'gs://bucket/a + b&c' 2>&1 | plain
asked
bucket_same
echo '--- again; a file that changed'
try import 'gs://bucket/a + b&c' 2>&1 | plain
cp www/*/*/model-00002-of-00003.safetensors new
mv new "www/a + b&c/ü%20/deep/part.safetensors"
try get part.safetensors model.norm.weight 2>&1 | plain
try import 'gs://bucket/a + b&c' 2>&1 | plain
rm log
echo '--- lists that lead elsewhere, lie, or do not end'
for bucket in none evil nul dots endless json unsized ungenerated long; do
    STATUS=always try -d :memory: import "gs://$bucket/a + b&c/ü%20" 2>&1 | plain
done
rm log
echo '--- who asks: nobody; a service account, with one token for all; a user'
deep='a + b&c/ü%20/deep'
unset STORAGE_EMULATOR_HOST
export CLOUDSDK_API_ENDPOINT_OVERRIDES_STORAGE=$at/storage/v1/
try -d :memory: import "gs://private/$deep" 2>&1 | plain
python3 - "$at" <<'END'
import json, sys, urllib.request
urllib.request.install_opener(urllib.request.build_opener(urllib.request.ProxyHandler({})))
pem = urllib.request.urlopen(sys.argv[1] + "/storage/key").read().decode()
account = {"type": "service_account", "client_email": "me@test", "private_key": pem, "token_uri": sys.argv[1] + "/token"}
def write(name, **more):
    with open(name, "w") as f:
        json.dump({**account, **more}, f)
write("account.json")
write("stranger.json", client_email="geheim@test")
write("nokey.json", private_key="geheim")
write("moves.json", token_uri=sys.argv[1] + "/token/moves")
write("none.json", token_uri=sys.argv[1] + "/token/none")
write("external.json", type="external_account")
write("user.json", type="authorized_user", client_id="id", client_secret="geheim", refresh_token="re+fresh/")
write("half.json", type="authorized_user", client_id="id")
open("empty.json", "w").close()
END
rm log
for name in account user stranger nokey moves none external half empty missing; do
    echo "$name"
    GOOGLE_APPLICATION_CREDENTIALS=$PWD/$name.json STATUS=always try import "gs://private/$deep" 2>&1 | plain
done
asked
mkdir -p "$HOME/.config/gcloud"
mv user.json "$HOME/.config/gcloud/application_default_credentials.json"
try -d :memory: import "gs://private/$deep" 2>&1 | plain
echo '--- a token does not leave: not for another host, not for an emulator, not for the catalog'
rm log
try -d :memory: import "gs://privatemoved/$deep" 2>&1 | plain
asked
STORAGE_EMULATOR_HOST=$at try -d :memory: import "gs://private/$deep" 2>&1 | plain
asked
grep -c geheim "$CKPTDB" || true
