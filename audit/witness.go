package audit

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/junction-mcp/junction/internal/filelock"
	"github.com/junction-mcp/junction/state"
)

const (
	endPrefix    = "audit/ends/" // of the keys of witnessed ends, each with the id of a log
	witnessPause = time.Second   // shortest time between two writes of the end of a log
	refreshPause = 24 * time.Hour
	witnessTime  = 90 * 24 * time.Hour // how long the store keeps the end of a log that is not written any more
	writeTime    = 5 * time.Second     // time limit of a write
	maxWitnessed = 10_000              // ends of logs in a store
	maxLost      = 10                  // ends of one log that the log does not have
	witnessPage  = 1_000
	maxSwaps     = 20
	chainFile    = "chain" // holds the id of the log in a folder
)

// A Witness is a store on other machines that has the end of a log, so that its last lines cannot be
// removed unnoticed. See [Witnesses].
type Witness struct {
	Store state.KV
	// Instance and Host name the process and the machine that write the log.
	Instance, Host string
}

// A Witnessed describes the end of one log, as a store has it.
type Witnessed struct {
	Chain    string `json:"chain"` // id of the log
	Instance string `json:"instance"`
	Host     string `json:"host"`
	Folder   string `json:"folder"`
	End
	// Lost has earlier ends that the log did not have when it was continued, the latest at the end.
	Lost []End `json:"lost,omitempty"`
}

// An End is a line that was once the last one of a log.
type End struct {
	Seq       uint64    `json:"seq"`
	Hash      string    `json:"hash"`
	Time      time.Time `json:"time"`
	Signature string    `json:"signature"` // with the key of the log
}

// is reports whether two ends are the same line.
func (e *End) is(other *End) bool { return e.Seq == other.Seq && e.Hash == other.Hash }

// statement returns the text that the signature of an end signs.
func (e *End) statement(chain string) []byte {
	return fmt.Appendf(nil, "junction audit end 1\n%s\n%d\n%s", chain, e.Seq, e.Hash)
}

// Witnesses returns what a store has of all logs.
func Witnesses(ctx context.Context, store state.KV) (all []Witnessed, err error) {
	for after := ""; ; {
		entries, err := store.List(ctx, endPrefix, after, witnessPage)
		if err != nil {
			return nil, fmt.Errorf("audit: the ends of logs: %w", err)
		}
		for _, e := range entries {
			var w Witnessed
			if err := json.Unmarshal(e.Value, &w); err != nil || endPrefix+w.Chain != e.Key {
				return nil, fmt.Errorf("audit: the entry %q of the store is not the end of a log", e.Key)
			}
			all, after = append(all, w), e.Key
		}
		if len(entries) < witnessPage {
			return all, nil
		}
	}
}

// A witnessing writes the end of a log to its witness. One goroutine does so, until close.
type witnessing struct {
	Witness
	log    *Log
	chain  string
	folder string
	opened head // end of the log when it was opened

	wake, stop chan struct{}
	ended      sync.WaitGroup

	mu     sync.Mutex
	latest End // last checkpoint; Seq is 0 before the first one

	wrote  End       // last end in the store; used by run only, as what follows
	at     time.Time // when it was written
	failed bool      // whether the last write failed
	absent End       // end in the store that the log does not have
}

// witness begins to write the end of a log.
func (l *Log) witness() error {
	chain, err := chainOf(l.root)
	if errors.Is(err, fs.ErrNotExist) {
		chain = strings.ToLower(rand.Text())
		if err = l.root.WriteFile(chainFile, []byte(chain+"\n"), 0o600); err == nil {
			err = filelock.SyncFolder(l.dir)
		}
	}
	if err != nil {
		return err
	}
	folder, err := filepath.Abs(l.dir)
	if err != nil {
		return err
	}
	l.turn <- struct{}{}
	defer func() { <-l.turn }()
	w := &witnessing{Witness: *l.options.Witness, log: l, chain: chain, folder: folder, opened: l.disk.head, wake: make(chan struct{}, 1), stop: make(chan struct{})}
	l.disk.ended = w.see
	l.witnessing = w
	w.wake <- struct{}{} // compares the end of the log with the witnessed one
	w.ended.Go(w.run)
	return nil
}

// chainOf returns the id of the log in a folder.
func chainOf(root *os.Root) (string, error) {
	f, err := root.Open(chainFile)
	if err != nil {
		return "", err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, 100))
	chain := strings.TrimSpace(string(text))
	if err == nil && (chain == "" || len(chain) > 64) {
		err = fmt.Errorf("%s holds no id of a log: remove it, for another id", chainFile)
	}
	return chain, err
}

// see takes up a checkpoint as the end of the log. It does not wait.
func (w *witnessing) see(seq uint64, d digest) {
	w.mu.Lock()
	w.latest = End{Seq: seq, Hash: d.String(), Time: time.Now().UTC().Round(time.Millisecond)}
	w.mu.Unlock()
	w.again()
}

// close writes the last end and stops.
func (w *witnessing) close() {
	close(w.stop)
	w.ended.Wait()
}

func (w *witnessing) run() {
	defer w.write()
	refresh := time.NewTicker(refreshPause)
	defer refresh.Stop()
	for {
		select {
		case <-w.wake:
		case <-refresh.C:
		case <-w.stop:
			return
		}
		if !w.write() {
			w.again()
		}
		select {
		case <-time.After(witnessPause):
		case <-w.stop:
			return
		}
	}
}

// again makes run write the end soon.
func (w *witnessing) again() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// write writes the end of the log if it has grown, and reports whether that succeeded. It logs the first
// of several failures.
func (w *witnessing) write() bool {
	ctx, cancel := context.WithTimeout(context.Background(), writeTime)
	defer cancel()
	w.mu.Lock()
	end := w.latest
	w.mu.Unlock()
	if w.at != (time.Time{}) && end.Seq == w.wrote.Seq && time.Since(w.at) < refreshPause/2 {
		return true
	}
	err := w.swap(ctx, end)
	if err != nil && !w.failed {
		w.log.options.Logger.Warn("audit: the end of the log is not witnessed by the store", "folder", w.log.dir, "error", err)
	}
	if w.failed = err != nil; err == nil {
		w.wrote, w.at = end, time.Now()
	}
	return err == nil
}

// swap compares the end of the log with the one in the store, and replaces it. The end in the store never
// goes back, and one that the log does not have stays there as lost.
func (w *witnessing) swap(ctx context.Context, end End) error {
	for range maxSwaps {
		e, err := w.Store.Get(ctx, endPrefix+w.chain)
		if errors.Is(err, state.ErrNotFound) {
			err = w.room(ctx)
		}
		if err != nil {
			return err
		}
		var stored Witnessed
		if e.Version != "" && json.Unmarshal(e.Value, &stored) != nil {
			stored = Witnessed{} // no log wrote this
		}
		if stored.Seq > 0 && !stored.is(&w.wrote) {
			has := false
			if !stored.is(&w.absent) {
				if has, err = w.has(stored.End); err != nil {
					return err
				}
			}
			if !has && !slices.ContainsFunc(stored.Lost, func(e End) bool { return e.is(&stored.End) }) {
				w.fork(stored.End)
				stored.Lost = append(stored.Lost, stored.End)
				stored.Lost = stored.Lost[max(0, len(stored.Lost)-maxLost):]
			}
		}
		if end.Seq == 0 || end.Seq < stored.Seq {
			return nil // nothing was written yet, or the store knows more
		}
		key := w.log.options.Key
		end.Signature = base64.StdEncoding.EncodeToString(ed25519.Sign(key.private, end.statement(w.chain)))
		text, err := json.Marshal(Witnessed{w.chain, w.Instance, w.Host, w.folder, end, stored.Lost})
		if err != nil {
			return err
		}
		_, err = w.Store.CompareAndSwap(ctx, endPrefix+w.chain, e.Version, text, state.Write{TTL: max(witnessTime, w.log.options.KeepFor)})
		if !errors.Is(err, state.ErrConflict) {
			return err
		}
	}
	return fmt.Errorf("the end of the log changed %d times meanwhile: %w", maxSwaps, state.ErrConflict)
}

// room returns an error if the store has the ends of too many logs.
func (w *witnessing) room(ctx context.Context) error {
	count := 0
	for after := ""; ; {
		entries, err := w.Store.List(ctx, endPrefix, after, witnessPage)
		if err != nil {
			return err
		}
		if count += len(entries); count >= maxWitnessed {
			return fmt.Errorf("the store has the ends of %d logs, and takes at most %d", count, maxWitnessed)
		}
		if len(entries) < witnessPage {
			return nil
		}
		after = entries[len(entries)-1].Key
	}
}

// fork reports that the store has an end of this log that the log does not have.
func (w *witnessing) fork(end End) {
	if end.is(&w.absent) {
		return
	}
	w.absent = end
	why := fmt.Sprintf("the store of the replicas has line %d of this log, of %s, which is not here: lines were removed, or a copy of the folder is in use. When it was opened, its last line was number %d", end.Seq, end.Time.Format(time.RFC3339), w.opened.Seq)
	w.log.options.Logger.Error("audit: "+why, "folder", w.log.dir)
	_ = w.log.Note(&Record{Kind: KindNote, Reason: why})
}

// has reports whether the log has a line, or had it before it expired.
func (w *witnessing) has(end End) (bool, error) {
	files, err := listFiles(w.log.root)
	if err != nil {
		return false, err
	}
	first := len(files) - 1
	for first >= 0 && files[first] > fileName(end.Seq) {
		first--
	}
	if first < 0 {
		return len(files) > 0, nil // its file was removed before all others, as when it expired
	}
	f, err := w.log.root.Open(files[first])
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil // it expired just now
	}
	if err != nil {
		return false, err
	}
	defer f.Close()
	has := false
	err = eachLine(f, func(text []byte, _ int64) error {
		l, ok := parseLine(text)
		if !ok || l.seq < end.Seq {
			return nil
		}
		has = l.seq == end.Seq && l.digest.String() == end.Hash
		return errEnough
	})
	if errors.Is(err, errEnough) {
		err = nil
	}
	return has, err
}

// isAuthentic reports whether an end has the signature of a key.
func (e *End) isAuthentic(chain string, key ed25519.PublicKey) bool {
	signature, err := base64.StdEncoding.DecodeString(e.Signature)
	return err == nil && ed25519.Verify(key, e.statement(chain), signature)
}

// ends returns the ends that a store has of the log in a folder, or of another log that was there.
func (v *verification) ends(root *os.Root, dir string) (ends []End) {
	chain, err := chainOf(root)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		v.fault(err.Error())
	}
	if at, err := filepath.Abs(dir); err == nil {
		dir = at
	}
	for _, w := range v.witnessed {
		if w.Chain != chain && (w.Host != v.host || w.Folder != dir) {
			continue
		}
		for _, e := range append(slices.Clone(w.Lost), w.End) {
			if !e.isAuthentic(w.Chain, v.public) {
				v.fault(fmt.Sprintf("the store of the replicas has line %d as the end of this log, without a signature of its key", e.Seq))
				continue
			}
			ends = append(ends, e)
			v.report.Witnessed = max(v.report.Witnessed, e.Seq)
		}
	}
	return ends
}

// checkEnds reports ends that the log does not have.
func (v *verification) checkEnds(ends []End) {
	for _, e := range ends {
		has := v.digests[e.Seq]
		read := has != digest{}
		expired := slices.ContainsFunc(v.report.Expired, func(s Span) bool { return s.First <= e.Seq && e.Seq <= s.Last })
		switch {
		case has.String() == e.Hash || !read && expired:
		case read:
			v.fault(fmt.Sprintf("line %d is not the one that the store of the replicas has, of %s: a part of the log was replaced", e.Seq, e.Time.Format(time.RFC3339)))
		default:
			v.fault(fmt.Sprintf("line %d, which the store of the replicas has, of %s, is missing; the last one here is %d", e.Seq, e.Time.Format(time.RFC3339), v.report.Last))
		}
	}
}
