package audit

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/junction-mcp/junction/internal/jsonrpc"
)

const (
	headFile = "head.json"
	headSize = 512 // size in bytes; the head is replaced in place and fits into one disk sector
	// headTime is the largest delay of the head after the lines with NoSync. Writing both each time
	// costs twice as much.
	headTime = 10 * time.Millisecond
)

// A head records the first and the last line of a log, so that a missing end can be detected. It
// has its own file, written with every group of lines. With NoSync, the file is written up to
// headTime later. The key authenticates it.
type head struct {
	First  uint64 `json:"first"`  // number of the first kept line
	Before string `json:"before"` // digest of the line before First; empty without one
	Seq    uint64 `json:"seq"`    // number of the last line; 0 if there is no line yet
	Hash   string `json:"hash"`   // digest of the last line
	Key    string `json:"key"`    // identifies the key; a head of another key is not an attack on this log
	MAC    string `json:"mac"`

	before, digest digest
}

// writeHead writes the head after the lines. It does not wait for the disk, so after a crash of the
// machine the head may be older than the lines. Only with NoSync can the head be newer, because
// lines of the last second may be lost. Verify then reports these as missing.
func (d *disk) writeHead() error {
	h, mac := &d.head, d.options.Key.sealHead(&d.head)
	var digest [digestSize]byte
	w := jsonrpc.NewObject(d.headText[:0])
	w.Int("first", int64(h.First))
	w.StringBytes("before", h.before.append(digest[:0]))
	w.Int("seq", int64(h.Seq))
	w.StringBytes("hash", h.digest.append(digest[:0]))
	w.String("key", d.options.Key.id)
	w.StringBytes("mac", mac.append(digest[:0]))
	text := append(w.Bytes(), '\n')
	for len(text) < headSize {
		text = append(text, ' ')
	}
	d.headText = text
	if _, err := d.headFile.WriteAt(text, 0); err != nil {
		return err
	}
	d.headAt, d.headDue = d.now, false
	return nil
}

// ofOther reports whether the head names another key. The head may be forged.
func (h *head) ofOther(k *Key) bool { return h.Key != "" && h.Key != k.id }

// readHead reads the head. It does not check whether the head is authentic.
func readHead(root *os.Root) (h head, err error) {
	f, err := root.Open(headFile)
	if err != nil {
		return h, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, 2*headSize))
	if err != nil {
		return h, err
	}
	if err := json.Unmarshal(text, &h); err != nil {
		return h, fmt.Errorf("%s cannot be read: %w", headFile, err)
	}
	var ok, also bool
	h.before, ok = parseDigest(h.Before)
	h.digest, also = parseDigest(h.Hash)
	if !ok || !also || h.First == 0 {
		return h, fmt.Errorf("%s is damaged", headFile)
	}
	return h, nil
}
