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
	headSize = 512 // bytes: it is replaced in place, within one sector
	// headTime is the longest time by which the head is older than the lines with NoSync. Writing both each time costs twice as much.
	headTime = 10 * time.Millisecond
)

// A head says where a log begins and ends. It stands in a file of its own and is written with every
// group of lines or, with NoSync, headTime later, so that an end that was cut off is missed. What it says is
// authenticated by the key.
type head struct {
	First  uint64 `json:"first"`  // the number of the first line that is kept
	Before string `json:"before"` // the digest of the line before that; empty if there was none
	Seq    uint64 `json:"seq"`    // the number of the last line; 0: there is none yet
	Hash   string `json:"hash"`   // its digest
	Key    string `json:"key"`    // which key's; what is of another one is not an attack on this log
	MAC    string `json:"mac"`

	before, digest digest
}

// writeHead writes where the log ends, behind the lines that it tells of. It does not wait for the
// disk: after the end of the machine the head may be older than the lines. It may be newer only with NoSync, where
// lines of the last second may be lost; the log then says that they are missing.
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

// ofOther reports whether the head says that the log is of another key. One that somebody changed may say so, too.
func (h *head) ofOther(k *Key) bool { return h.Key != "" && h.Key != k.id }

// readHead reads what writeHead wrote; whether it is authentic is not checked.
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
