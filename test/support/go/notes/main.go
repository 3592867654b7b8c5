// Prints test/fixtures/log/notes.json: notes made by Go's note package and torchwood, and what they
// reject. Run it in test/support/go: go run ./notes
package main

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"filippo.io/torchwood"
	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func main() {
	var cases []map[string]any
	for _, name := range []string{"example.com/log", "keys.example.com/log", "héllo/wörld"} {
		seed := sha256.Sum256([]byte("log " + name))
		skey, vkey, err := note.GenerateKey(bytes.NewReader(seed[:]), name)
		check(err)
		signer, err := note.NewSigner(skey)
		check(err)
		wseed := sha256.Sum256([]byte("witness " + name))
		witness, err := torchwood.NewCosignatureSigner("witness.example/"+fmt.Sprint(len(name)), ed25519.NewKeyFromSeed(wseed[:]))
		check(err)
		root := sha256.Sum256([]byte(name))
		texts := []string{
			torchwood.Checkpoint{Origin: name, Tree: tlog.Tree{N: 5, Hash: root}}.String(),
			torchwood.Checkpoint{Origin: name, Tree: tlog.Tree{N: 20852163, Hash: root}, Extension: "extension\n"}.String(),
		}
		for _, text := range texts {
			signed, err := note.Sign(&note.Note{Text: text}, signer, witness)
			check(err)
			cases = append(cases, map[string]any{
				"seed": base64.StdEncoding.EncodeToString(seed[:]),
				"vkey": vkey, "witness": witness.Verifier().String(), "text": text, "note": string(signed),
			})
		}
		signed, err := note.Sign(&note.Note{Text: "An empty line follows.\n\nThen this.\n"}, signer)
		check(err)
		cases = append(cases, map[string]any{"seed": base64.StdEncoding.EncodeToString(seed[:]), "vkey": vkey, "text": "An empty line follows.\n\nThen this.\n", "note": string(signed)})
	}
	// Notes that Go rejects: malformed, or without a valid signature of the key.
	vkey, first := cases[0]["vkey"].(string), cases[0]["note"].(string)
	v, err := note.NewVerifier(vkey)
	check(err)
	rejected := map[string]string{
		"without a final line feed":          strings.TrimSuffix(first, "\n"),
		"without a blank line":               strings.Replace(first, "\n\n", "\n", 1),
		"without signatures":                 first[:strings.Index(first, "\n\n")+2],
		"with another size":                  strings.Replace(first, "\n5\n", "\n6\n", 1),
		"with another name":                  strings.Replace(first, "— example.com/log ", "— example.com/log2 ", 1),
		"with a hyphen for the dash":         strings.ReplaceAll(first, "— ", "- "),
		"with a control character":           strings.Replace(first, "5", "5\t", 1),
		"with a signature that is no base64": strings.Replace(first, "=\n", "*\n", 1),
		"with a space after a signature":     strings.Replace(first, "=\n", "= \n", 1),
		"with a line after the signatures":   first + "more\n",
		"with a short signature":             first[:strings.Index(first, "\n\n")+2] + "— example.com/log AAAA\n",
		"with carriage returns":              strings.ReplaceAll(first, "\n", "\r\n"),
	}
	for name, text := range rejected {
		if _, err := note.Open([]byte(text), note.VerifierList(v)); err == nil {
			panic(name)
		}
	}
	keys := map[string]string{
		"with another id":       strings.Replace(vkey, "+", "+0", 1),
		"with a space":          strings.Replace(vkey, "example", "exam ple", 1),
		"of another name":       "x" + vkey,
		"that is cut off":       vkey[:len(vkey)-4],
		"with an upper-case id": upperID(vkey),
		"without a name":        vkey[strings.Index(vkey, "+"):],
		"of two parts":          vkey[:strings.LastIndex(vkey, "+")],
		"of another type":       typeOf(vkey, 2),
	}
	for name, key := range keys {
		if _, err := note.NewVerifier(key); err == nil && name != "with an upper-case id" {
			panic(name)
		}
	}
	out, err := json.MarshalIndent(map[string]any{"notes": cases, "rejectedNotes": rejected, "rejectedKeys": keys}, "", "  ")
	check(err)
	os.Stdout.Write(append(bytes.ReplaceAll(bytes.ReplaceAll(out, []byte("\\u003c"), []byte("<")), []byte("\\u003e"), []byte(">")), '\n'))
}

func upperID(vkey string) string {
	parts := strings.SplitN(vkey, "+", 3)
	return parts[0] + "+" + strings.ToUpper(parts[1]) + "+" + parts[2]
}

func typeOf(vkey string, t byte) string {
	parts := strings.SplitN(vkey, "+", 3)
	key, err := base64.StdEncoding.DecodeString(parts[2])
	check(err)
	key[0] = t
	return parts[0] + "+" + parts[1] + "+" + base64.StdEncoding.EncodeToString(key)
}
