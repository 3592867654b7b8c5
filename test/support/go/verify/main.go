// Verifies a log with Go's tools: its checkpoint with the keys, and every entry and tile of its tree.
//
//	go run ./verify URL LOG-VKEY [WITNESS-VKEY...]
package main

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"

	"filippo.io/torchwood"
	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

func main() {
	if err := verify(context.Background(), os.Args[1], os.Args[2], os.Args[3:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func verify(ctx context.Context, url, logKey string, witnessKeys []string) error {
	text, err := fetch(url + "/checkpoint")
	if err != nil {
		return err
	}
	log, err := note.NewVerifier(logKey)
	if err != nil {
		return err
	}
	verifiers := []note.Verifier{log}
	for _, key := range witnessKeys {
		witness, err := newCosignatureVerifier(key)
		if err != nil {
			return err
		}
		verifiers = append(verifiers, witness)
	}
	signed, err := note.Open(text, note.VerifierList(verifiers...))
	if err != nil {
		return err
	}
	if len(signed.Sigs) != len(verifiers) {
		return fmt.Errorf("%d valid signatures instead of %d", len(signed.Sigs), len(verifiers))
	}
	checkpoint, err := torchwood.ParseCheckpoint(signed.Text)
	if err != nil {
		return err
	}
	if checkpoint.Origin != log.Name() {
		return fmt.Errorf("the checkpoint is of %s", checkpoint.Origin)
	}
	fetcher, err := torchwood.NewTileFetcher(url)
	if err != nil {
		return err
	}
	client, err := torchwood.NewClient(fetcher)
	if err != nil {
		return err
	}
	for index := range checkpoint.N {
		entry, proof, err := client.Entry(ctx, checkpoint.Tree, index)
		if err != nil {
			return fmt.Errorf("entry %d: %w", index, err)
		}
		if err := tlog.CheckRecord(proof, checkpoint.N, checkpoint.Hash, index, tlog.RecordHash(entry)); err != nil {
			return fmt.Errorf("entry %d: %w", index, err)
		}
	}
	fmt.Printf("%s\n%d\n", checkpoint.Origin, checkpoint.N)
	return nil
}

// A cosignatureVerifier verifies cosignatures of c2sp.org/tlog-cosignature, which torchwood makes, but
// has no exported verifier for in this version.
type cosignatureVerifier struct {
	name string
	hash uint32
	key  ed25519.PublicKey
}

func newCosignatureVerifier(vkey string) (*cosignatureVerifier, error) {
	parts := strings.SplitN(vkey, "+", 3)
	if len(parts) != 3 {
		return nil, fmt.Errorf("%q is not a verifier key", vkey)
	}
	hash, err := strconv.ParseUint(parts[1], 16, 32)
	if err != nil {
		return nil, err
	}
	key, err := base64.StdEncoding.DecodeString(parts[2])
	if err != nil {
		return nil, err
	}
	if len(key) != 1+ed25519.PublicKeySize || key[0] != 0x04 {
		return nil, fmt.Errorf("%q is not the verifier key of a witness", vkey)
	}
	return &cosignatureVerifier{parts[0], uint32(hash), key[1:]}, nil
}

func (v *cosignatureVerifier) Name() string    { return v.name }
func (v *cosignatureVerifier) KeyHash() uint32 { return v.hash }

func (v *cosignatureVerifier) Verify(text, signature []byte) bool {
	if len(signature) != 8+ed25519.SignatureSize {
		return false
	}
	time := binary.BigEndian.Uint64(signature)
	message := fmt.Sprintf("cosignature/v1\ntime %d\n%s", time, text)
	return ed25519.Verify(v.key, []byte(message), signature[8:])
}

func fetch(url string) ([]byte, error) {
	response, err := http.Get(url)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s", url, response.Status)
	}
	return io.ReadAll(response.Body)
}
