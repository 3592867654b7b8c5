// Prints test/fixtures/log/proofs.json: digests of all proofs and tiles of the trees of 1 to 300 leaves,
// by Go's checksum database. Run it in test/support/go: go run ./proofs
package main

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"hash"
	"os"

	"golang.org/x/mod/sumdb/tlog"
)

const sizes = 300

type hashes []tlog.Hash

func (h hashes) ReadHashes(indexes []int64) ([]tlog.Hash, error) {
	found := make([]tlog.Hash, len(indexes))
	for i, index := range indexes {
		found[i] = h[index]
	}
	return found, nil
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func add(digest hash.Hash, proof []tlog.Hash) {
	digest.Write([]byte{byte(len(proof))})
	for _, hash := range proof {
		digest.Write(hash[:])
	}
}

// The beginning, which is enough to notice a difference and keeps the file small.
func sum(digest hash.Hash) string {
	return base64.StdEncoding.EncodeToString(digest.Sum(nil)[:9])
}

func main() {
	var stored hashes
	var trees []map[string]string
	for size := int64(1); size <= sizes; size++ {
		added, err := tlog.StoredHashes(size-1, fmt.Appendf(nil, "leaf %d", size-1), stored)
		check(err)
		stored = append(stored, added...)
		root, err := tlog.TreeHash(size, stored)
		check(err)
		inclusion, consistency, tiles := sha256.New(), sha256.New(), sha256.New()
		for index := int64(0); index < size; index++ {
			proof, err := tlog.ProveRecord(size, index, stored)
			check(err)
			add(inclusion, proof)
		}
		for older := int64(1); older <= size; older++ {
			proof, err := tlog.ProveTree(size, older, stored)
			check(err)
			add(consistency, proof)
		}
		for _, tile := range tlog.NewTiles(8, 0, size) {
			data, err := tlog.ReadTileData(tile, stored)
			check(err)
			// tlog-tiles leaves out the height, which its paths begin with here.
			fmt.Fprintf(tiles, "%s\n", tile.Path()[len("tile/8/"):])
			tiles.Write(data)
		}
		trees = append(trees, map[string]string{
			"root":        base64.StdEncoding.EncodeToString(root[:]),
			"inclusion":   sum(inclusion),
			"consistency": sum(consistency),
			"tiles":       sum(tiles),
		})
	}
	out, err := json.MarshalIndent(trees, "", "  ")
	check(err)
	os.Stdout.Write(append(out, '\n'))
}
