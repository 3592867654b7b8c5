"""Verifies an exported ledger with its proof and, if its address is given, with the whole log and the key set.

usage: verify.py EXPORT.jsonl EXPORT.tlog-proof VERIFIER-KEY [https://HOST/log]

Written from docs/ledger.md, RFC 8785, RFC 9162 and the C2SP texts that they name, and nothing else.
"""

import base64, hashlib, json, sys, time, urllib.error, urllib.request
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

broken = lambda reason: sys.exit(f"BROKEN  {reason}")
digest = lambda *parts: hashlib.sha256(b"".join(parts)).digest()
leaf_hash = lambda entry: digest(b"\x00", entry)
base64url = lambda data: base64.urlsafe_b64encode(data).decode().rstrip("=")
entry_key = lambda head, revision: digest(base64.b64decode(head["blinding"]), str(revision).encode())
canonical = lambda value: json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()

def tree_root(leaves):  # RFC 9162, section 2.1.1
    if len(leaves) < 2: return leaves[0] if leaves else digest()
    half = 1 << ((len(leaves) - 1).bit_length() - 1)
    return digest(b"\x01", tree_root(leaves[:half]), tree_root(leaves[half:]))

def root_from_path(index, size, hash, path):  # RFC 9162, section 2.1.3.2
    last = size - 1
    for sibling in path:
        if index & 1 or index == last:
            hash = digest(b"\x01", sibling, hash)
            while index and not index & 1: index, last = index >> 1, last >> 1
        else: hash = digest(b"\x01", hash, sibling)
        index, last = index >> 1, last >> 1
    return hash if last == 0 else None

def root_of_map(slot, hash, path):  # docs/ledger.md
    for depth, sibling in reversed(list(enumerate(reversed(path)))):
        is_right = int.from_bytes(slot, "big") >> 255 - depth & 1
        hash = digest(b"\x01", sibling, hash) if is_right else digest(b"\x01", hash, sibling)
    return hash

def verify_signature(key, signature, message):
    try: Ed25519PublicKey.from_public_bytes(key).verify(signature, message)
    except InvalidSignature: broken("a signature of the checkpoint is invalid")

def open_checkpoint(note, verifier_key):  # C2SP signed-note, tlog-checkpoint and tlog-cosignature
    name, key_id, key = verifier_key.split("+", 2)
    key = base64.b64decode(key)
    text, signatures = note[: note.rindex("\n\n") + 1], note[note.rindex("\n\n") + 2 :]
    lines = [line.split(" ") for line in signatures.splitlines()]
    found = {data[:4]: data[4:] for data in (base64.b64decode(line[2]) for line in lines if line[1] == name)}
    id_of = lambda kind: digest(name.encode(), b"\n", kind, key[1:])[:4]
    if id_of(b"\1").hex() != key_id or key[0] != 1: broken("the verifier key is damaged")
    if id_of(b"\1") not in found: broken("the checkpoint is not signed by the log")
    verify_signature(key[1:], found[id_of(b"\1")], text.encode())
    origin, size, root = text.splitlines()[:3]
    if origin != name: broken(f"the checkpoint is of another log, {origin}")
    dated = found.get(id_of(b"\4"), bytes(8))
    date = int.from_bytes(dated[:8], "big")
    if date: verify_signature(key[1:], dated[8:], f"cosignature/v1\ntime {date}\n{text}".encode())
    return int(size), base64.b64decode(root), date

def ask(address, may_be_gone=False):
    request = urllib.request.Request(address, headers={"Cache-Control": "no-cache"})
    try: return urllib.request.urlopen(request, timeout=30)
    except urllib.error.HTTPError as error:
        if error.code != 404 or not may_be_gone: broken(json.load(error)["detail"])

read = lambda address: ask(address).read()

def open_proof(text, is_last=False):  # C2SP tlog-proof
    proof, _, note = text.partition("\n\n")
    header, extra, index, *path = [line.split(" ")[-1] for line in proof.split("\n")]
    head = json.loads(base64.b64decode(extra))
    size, root, date = open_checkpoint(note, verifier_key)
    key = base64.b64decode(head["key"]) if "key" in head else entry_key(head, head["revision"])
    entry = {"head": head["head"], "ledger": digest(key, head["ledgerId"].encode()).hex(), "revision": head["revision"], "time": head["time"]}
    leaf = leaf_hash(canonical(entry))
    if root_from_path(int(index), size, leaf, map(base64.b64decode, path)) != root:
        broken("the proof does not show that the log has this ledger")
    if is_last:
        last = {"path": [], "hashes": [], "time": "", **head.get("last", {})}
        path, hashes = ([base64.b64decode(hash) for hash in last[name]] for name in ("path", "hashes"))
        slot = digest(head["ledgerId"].encode())
        heads = {"heads": root_of_map(slot, leaf_hash(slot + key + leaf), path).hex(), "time": last["time"]}
        if root_from_path(size - 1, size, leaf_hash(canonical(heads)), hashes) != root:
            broken(f"the proof does not show that event {head['revision']} is the last one in the log")
    return head, size, root, date

def verify_key_set(folder, newest, may_be_gone, wait=130):
    proof = ask(f"{folder}/ledger-proof", may_be_gone)  # First: no key set after it is older.
    response = ask(f"{folder}/jwks-full.json", may_be_gone)
    if response is None: return print("gone    The project was deleted, and has no key set.")
    keys, header = json.load(response)["keys"], response.headers.get("pubring-revision")
    if header is None: broken("the key set has no revision")
    revision, start = int(header.partition(".")[0]), header.partition(".")[2]
    proven, _, _, date = open_proof(proof.read().decode(), is_last=True)
    if proven["ledgerId"] != head["ledgerId"]: broken("the proof of the key set is of another project")
    if time.time() - date > 120: broken("the proof of the key set is older than two minutes")
    if proven["revision"] < newest: broken(f"the key set is proven by event {proven['revision']}, and the log has event {newest}")
    published = canonical(proven["published"]) if "published" in proven else b""
    link = "\n".join((proven["previous"], proven["contentDigest"], "")).encode()
    if digest(link, published).hex() != proven["head"]: broken("the proof does not show what the project publishes")
    if base64url(digest(proven["list"].encode())) != proven["published"]["list"]: broken("the list of keys is not the one of the log")
    listed = {(each["kid"], each["alg"], each["thumbprint"]): each for each in json.loads(proven["list"])}
    names = {"RSA": "e kty n", "EC": "crv kty x y", "OKP": "crv kty x", "AKP": "alg kty pub"}
    thumbprint = lambda key: base64url(digest(canonical({name: key[name] for name in names[key["kty"]].split()})))
    served = {(key["kid"], key["alg"], thumbprint(key)) for key in keys}
    if revision < proven["revision"]: broken("the key set is older than the log")
    if revision == proven["revision"] and not proven["head"].startswith(start): broken("the key set is of another event than the log has")
    if served - set(listed) and revision > proven["revision"] and wait:
        print(f"The key set has keys that the log does not have yet: asking again in {wait} s.", file=sys.stderr)
        time.sleep(wait)
        return verify_key_set(folder, newest, may_be_gone, wait=0)
    for kid, _, _ in served - set(listed): broken(f"the key set has the key {kid}, which the log does not have")
    now = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(time.time() + 300))
    missing = [kid for kid, *rest in set(listed) - served if kid != "no-active-key" and listed[kid, *rest].get("expireTime", "9") > now]
    if missing and revision == proven["revision"]: broken(f"the key set lacks the key {missing[0]}")
    print(f"proven  {len(keys)} keys, by the log at revision {proven['revision']}")

def main():
    global head
    head, size, root, _ = open_proof(open(proof_file, encoding="utf-8").read())
    blinded = lambda revision: digest(entry_key(head, revision), head["ledgerId"].encode()).hex()

    hashes = ["0" * 64]
    for line in open(export, encoding="utf-8"):
        event = json.loads(line)
        content = {name: value for name, value in event.items() if name not in ("hash", "label", "published")}
        named = {name: value for name, value in event["actor"].items() if name in ("user", "link")}
        content["actor"] = named or event["actor"]
        published = canonical(event["published"]) if "published" in event else b""
        hash = digest(hashes[-1].encode(), b"\n", digest(canonical(content)).hex().encode(), b"\n", published).hex()
        if hash != event["hash"] or event["revision"] != len(hashes) or event["ledgerId"] != head["ledgerId"]:
            broken(f"event {len(hashes)} was altered, removed or moved")
        hashes.append(hash)
    if hashes[head["revision"] : head["revision"] + 1] != [head["head"]]: broken("the log has another history of this ledger")

    if log:  # C2SP tlog-tiles
        newest, tree, leaves = 0, f"{log[0]}/{verifier_key.split('+')[0].split('/')[-1]}", []
        newer_size, newer_root, _ = open_checkpoint(read(f"{tree}/checkpoint").decode(), verifier_key)
        while len(leaves) < newer_size:
            number, width = len(leaves) // 256, min(256, newer_size - len(leaves))
            place = "/".join([f"x{number // 1000 ** n % 1000:03}" for n in (2, 1) if number >= 1000**n] + [f"{number % 1000:03}"])
            bundle = read(f"{tree}/tile/entries/{place}" + (f".p/{width}" if width < 256 else ""))
            for _ in range(width):
                end = 2 + int.from_bytes(bundle[:2], "big")
                entry, bundle = bundle[2:end], bundle[end:]
                leaves.append(leaf_hash(entry))
                logged = json.loads(entry)
                if "heads" in logged or logged["ledger"] != blinded(logged["revision"]): continue
                newest = max(newest, logged["revision"])
                if hashes[logged["revision"] :][:1] not in ([], [logged["head"]]):
                    broken(f"the log has another event {logged['revision']} of this ledger")
        if tree_root(leaves) != newer_root: broken("the entries of the log are not those of its checkpoint")
        if newer_size < size or tree_root(leaves[:size]) != root: broken("the log does not extend the checkpoint of the proof")
        if not head["ledgerId"].startswith("00000000-0000-0000-0000-"):
            address = f"{log[0].removesuffix('/log')}/v1/projects/{head['ledgerId']}/.well-known"
            verify_key_set(address, newest, event["type"] == "project.deleted")
    print(f"whole   {head['ledgerId']}  revision {len(hashes) - 1}  {hashes[-1]}")

export, proof_file, verifier_key, *log = sys.argv[1:]
try: main()
except Exception as error: broken(f"a file or an answer cannot be read: {error!r}")
