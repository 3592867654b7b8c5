"""Verifies an exported ledger with its proof and, if its address is given, with the whole log.

usage: verify.py EXPORT.jsonl EXPORT.tlog-proof VERIFIER-KEY [https://HOST/log]

Written from docs/ledger.md, RFC 8785, RFC 9162 and the C2SP texts that they name, and nothing else.
"""

import base64, hashlib, json, sys, urllib.error, urllib.request
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

broken = lambda reason: sys.exit(f"BROKEN  {reason}")
digest = lambda *parts: hashlib.sha256(b"".join(parts)).digest()
leaf_hash = lambda entry: digest(b"\x00", entry)
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

def open_checkpoint(note, verifier_key):  # C2SP signed-note and tlog-checkpoint
    name, key_id, key = verifier_key.split("+", 2)
    key = base64.b64decode(key)
    text, signatures = note[: note.rindex("\n\n") + 1], note[note.rindex("\n\n") + 2 :]
    lines = [line.split(" ") for line in signatures.splitlines()]
    found = [base64.b64decode(line[2]) for line in lines if line[1] == name]
    found = [each[4:] for each in found if each[:4].hex() == key_id]
    if digest(name.encode(), b"\n", key)[:4].hex() != key_id or key[0] != 1: broken("the verifier key is damaged")
    if not found: broken("the checkpoint is not signed by the log")
    try: Ed25519PublicKey.from_public_bytes(key[1:]).verify(found[0], text.encode())
    except InvalidSignature: broken("the signature of the checkpoint is invalid")
    origin, size, root = text.splitlines()[:3]
    if origin != name: broken(f"the checkpoint is of another log, {origin}")
    return int(size), base64.b64decode(root)

def read(address):
    try: return urllib.request.urlopen(address).read()
    except urllib.error.HTTPError as error: broken(json.load(error)["detail"])

export, proof_file, verifier_key, *log = sys.argv[1:]
proof, _, note = open(proof_file, encoding="utf-8").read().partition("\n\n")  # C2SP tlog-proof
header, extra, index, *path = [line.split(" ")[-1] for line in proof.split("\n")]
head = json.loads(base64.b64decode(extra))
size, root = open_checkpoint(note, verifier_key)
blinding = base64.b64decode(head["blinding"])
blinded = lambda revision: digest(digest(blinding, str(revision).encode()), head["ledgerId"].encode()).hex()
entry = {"head": head["head"], "ledger": blinded(head["revision"]), "revision": head["revision"], "time": head["time"]}
if root_from_path(int(index), size, leaf_hash(canonical(entry)), map(base64.b64decode, path)) != root:
    broken("the proof does not show that the log has this ledger")

hashes = ["0" * 64]
for line in open(export, encoding="utf-8"):
    event = json.loads(line)
    content = {name: value for name, value in event.items() if name not in ("hash", "label")}
    if "user" in event["actor"]: content["actor"] = {"user": event["actor"]["user"]}
    hash = digest(hashes[-1].encode(), b"\n", canonical(content)).hex()
    if hash != event["hash"] or event["revision"] != len(hashes) or event["ledgerId"] != head["ledgerId"]:
        broken(f"event {len(hashes)} was altered, removed or moved")
    hashes.append(hash)
if hashes[head["revision"] : head["revision"] + 1] != [head["head"]]: broken("the log has another history of this ledger")

if log:  # C2SP tlog-tiles
    tree, leaves = f"{log[0]}/{verifier_key.split('+')[0].split('/')[-1]}", []
    newer_size, newer_root = open_checkpoint(read(f"{tree}/checkpoint").decode(), verifier_key)
    while len(leaves) < newer_size:
        number, width = len(leaves) // 256, min(256, newer_size - len(leaves))
        place = "/".join([f"x{number // 1000 ** n % 1000:03}" for n in (2, 1) if number >= 1000**n] + [f"{number % 1000:03}"])
        bundle = read(f"{tree}/tile/entries/{place}" + (f".p/{width}" if width < 256 else ""))
        for _ in range(width):
            end = 2 + int.from_bytes(bundle[:2], "big")
            entry, bundle = bundle[2:end], bundle[end:]
            leaves.append(leaf_hash(entry))
            logged = json.loads(entry)
            if logged["ledger"] != blinded(logged["revision"]): continue
            if hashes[logged["revision"] :][:1] not in ([], [logged["head"]]):
                broken(f"the log has another event {logged['revision']} of this ledger")
    if tree_root(leaves) != newer_root: broken("the entries of the log are not those of its checkpoint")
    if newer_size < size or tree_root(leaves[:size]) != root: broken("the log does not extend the checkpoint of the proof")
print(f"whole   {head['ledgerId']}  revision {len(hashes) - 1}  {hashes[-1]}")
