package results

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/junction-mcp/junction/internal/seal"
	"github.com/junction-mcp/junction/internal/share"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/state"
)

const (
	maxSharedBytes = 128 << 20 // bytes of the texts of all replicas in a shared store
	minSharedBytes = 128 << 10 // bytes that a text counts at least there, which limits their number to 1,024
	maxSwaps       = 8         // attempts to change the index

	partBytes  = 1 << 20         // bytes of a text in one value
	sharedTime = 3 * time.Second // for all operations on the store that one text needs
	swapPause  = 10 * time.Millisecond

	indexKey = "results/index"
)

// A sharedStore keeps texts where all replicas find them. Each text is under a key made of its owner
// and its id, neither of which the key reveals, and is encrypted. One value, the index, has the
// sizes of all texts.
type sharedStore struct {
	kv     state.KV
	ring   *seal.Ring
	logger *slog.Logger
	isBad  atomic.Bool // the last text could not be kept

	turn    chan struct{} // capacity 1; has a value while the index is changed, and guards what follows
	index   []sharedText  // the last known one, the oldest text first
	version state.Version
}

// A hash is the beginning of a SHA-256 hash.
type hash [16]byte

func hashOf(texts ...string) (h hash) {
	sum := sha256.New()
	for _, text := range texts {
		fmt.Fprintf(sum, "%d:%s", len(text), text) // lengths make the texts unambiguous
	}
	copy(h[:], sum.Sum(nil))
	return h
}

// A sharedText is a text in the index.
type sharedText struct {
	Owner, ID, User hash // the user's share contains the text
	Bytes           uint32
	Since           int64 // Unix seconds
}

// A sharedHead is the description of a text. It is stored with the first part.
type sharedHead struct {
	Kind   string        `json:"kind"`
	Server string        `json:"server"`
	By     mcp.Ownership `json:"by"`
	Size   int           `json:"size"`
}

// NewSharedStore returns a store that also keeps the results in a store that replicas share, so that
// they can be read at each replica, and after the end of the one that made them. While the shared
// store is away, results are kept as by [NewStore]. The key encrypts them, and has the same 32 random
// bytes at all replicas. The shared store has at most 128 MiB of them; above that, it loses the
// oldest texts of the user with the most bytes.
func NewSharedStore(most int, kv state.KV, key []byte, logger *slog.Logger) (*Store, error) {
	ring, err := seal.NewRing(key)
	if err != nil {
		return nil, err
	}
	s := NewStore(most)
	s.shared = &sharedStore{kv: kv, ring: ring, logger: logger, turn: make(chan struct{}, 1)}
	return s, nil
}

// ownerOf returns the owner in the key of a text.
func ownerOf(who *mcp.Principal) hash {
	if who == nil {
		return hash{}
	}
	return hashOf(who.Issuer, who.Subject, who.ClientID)
}

// keyOf returns the key of a part of a text.
func keyOf(owner, id hash, part int) string {
	return "results:" + hex.EncodeToString(owner[:]) + "/" + hex.EncodeToString(id[:]) + "/" + strconv.Itoa(part)
}

// put keeps a text under an id.
func (s *sharedStore) put(ctx context.Context, id string, t *text) {
	limited, cancel := context.WithTimeout(ctx, sharedTime)
	defer cancel()
	switch err := s.store(limited, id, t); {
	case err == nil:
		s.isBad.Store(false)
	case ctx.Err() == nil && !s.isBad.Swap(true):
		s.logger.WarnContext(ctx, "long results are kept at this replica alone, and others cannot read them", "error", err)
	}
}

func (s *sharedStore) store(ctx context.Context, id string, t *text) error {
	size := max(minSharedBytes, t.size())
	if size > maxSharedBytes {
		return fmt.Errorf("a result of %d bytes is larger than all may be together", len(t.text))
	}
	entry := sharedText{Owner: ownerOf(t.of.Owner), ID: hashOf(id), User: hashOf(t.user), Bytes: uint32(size), Since: t.since.Unix()}
	removed, err := s.reserve(ctx, entry)
	if err != nil {
		return err
	}
	for _, old := range removed {
		for part := range (int(old.Bytes) + partBytes - 1) / partBytes {
			_ = s.kv.Delete(ctx, keyOf(old.Owner, old.ID, part), state.Hold{}) // after an error it expires
		}
	}
	head, err := json.Marshal(sharedHead{t.kind, t.server, t.of, len(t.text)})
	if err != nil {
		return err
	}
	parts := (len(t.text) + partBytes - 1) / partBytes
	for part := max(0, parts-1); part >= 0; part-- { // the first one last, as it shows that all are there
		var plain []byte
		if part == 0 {
			plain = append(binary.AppendUvarint(nil, uint64(len(head))), head...)
		}
		plain = append(plain, t.text[part*partBytes:min(len(t.text), (part+1)*partBytes)]...)
		key := keyOf(entry.Owner, entry.ID, part)
		if _, err := s.kv.Put(ctx, key, []byte(s.ring.Seal(plain, []byte(key))), state.Write{TTL: keptTime}); err != nil {
			return err
		}
	}
	return nil
}

// reserve adds a text to the index. It returns the texts that it removed, because their time is over
// or to make room.
func (s *sharedStore) reserve(ctx context.Context, add sharedText) (removed []sharedText, err error) {
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	for attempt := range maxSwaps {
		if attempt > 0 || s.version == "" {
			if err := s.readIndex(ctx); err != nil {
				return nil, err
			}
			if slices.Contains(s.index, add) { // an attempt that seemed to fail did not
				return removed, nil
			}
		}
		var next []sharedText
		next, removed = withText(s.index, add, time.Now())
		var encoded bytes.Buffer
		_ = binary.Write(&encoded, binary.BigEndian, next) // writing to a buffer never fails
		s.version, err = s.kv.CompareAndSwap(ctx, indexKey, s.version, encoded.Bytes(), state.Write{TTL: keptTime})
		switch {
		case err == nil:
			s.index = next
			return removed, nil
		case !errors.Is(err, state.ErrConflict) && !errors.Is(err, state.ErrUncertain):
			return nil, err
		}
		select {
		case <-time.After(rand.N(swapPause << attempt)):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	return nil, fmt.Errorf("the index of results: %w", err)
}

// readIndex reads the index. The caller has the turn.
func (s *sharedStore) readIndex(ctx context.Context) error {
	s.version, s.index = "", nil
	e, err := s.kv.Get(ctx, indexKey)
	if errors.Is(err, state.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	index := make([]sharedText, len(e.Value)/binary.Size(sharedText{}))
	if err := binary.Read(bytes.NewReader(e.Value), binary.BigEndian, index); err != nil {
		index = nil // it is written anew
	}
	s.version, s.index = e.Version, index
	return nil
}

// withText returns an index with one more text, and the texts that were removed.
func withText(index []sharedText, add sharedText, now time.Time) (next, removed []sharedText) {
	held := share.NewHeld()
	for _, t := range index {
		if now.Unix()-t.Since > int64(keptTime.Seconds()) {
			removed = append(removed, t)
			continue
		}
		next = append(next, t)
		held.Add(string(t.User[:]), int(t.Bytes))
	}
	for held.Used()+int(add.Bytes) > maxSharedBytes {
		from, ok := held.GivesUp(string(add.User[:]), int(add.Bytes))
		if !ok {
			break
		}
		at := slices.IndexFunc(next, func(t sharedText) bool { return string(t.User[:]) == from })
		removed = append(removed, next[at])
		held.Add(from, -int(next[at].Bytes))
		next = slices.Delete(next, at, at+1)
	}
	return append(next, add), removed
}

// get returns a text of a server if who may read it; see [Store.get].
func (s *sharedStore) get(ctx context.Context, id, server string, who *mcp.Principal) (*found, error) {
	owner, hashed := ownerOf(who), hashOf(id)
	first, err := s.part(ctx, owner, hashed, 0)
	if err != nil {
		return nil, err
	}
	size, n := binary.Uvarint(first)
	if n <= 0 || size > uint64(len(first)-n) {
		return nil, seal.ErrBroken
	}
	var head sharedHead
	if err := json.Unmarshal(first[n:n+int(size)], &head); err != nil {
		return nil, err
	}
	if head.Server != server {
		return nil, mcp.ErrNotOwner
	}
	if err := head.By.Allows(ctx, who); err != nil {
		return nil, err
	}
	first = first[n+int(size):]
	return &found{kind: head.Kind, size: head.Size, piece: func(ctx context.Context, from, to int) (string, error) {
		var piece strings.Builder
		for part := from / partBytes; part*partBytes < to; part++ {
			text, err := first, error(nil)
			if part > 0 {
				text, err = s.part(ctx, owner, hashed, part)
			}
			if err != nil {
				return "", err
			}
			start := part * partBytes
			low, high := max(0, from-start), min(len(text), to-start)
			if low > high {
				return "", seal.ErrBroken
			}
			piece.Write(text[low:high])
		}
		return piece.String(), nil
	}}, nil
}

// part returns the content of a value of a text.
func (s *sharedStore) part(ctx context.Context, owner, id hash, part int) ([]byte, error) {
	key := keyOf(owner, id, part)
	e, err := s.kv.Get(ctx, key)
	if errors.Is(err, state.ErrNotFound) {
		return nil, mcp.ErrNotOwner
	}
	if err != nil {
		return nil, err
	}
	return s.ring.Open(string(e.Value), []byte(key))
}
