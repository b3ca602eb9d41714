package audit

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"slices"
	"time"

	"github.com/junction-mcp/junction/internal/jsonrpc"
)

// followPause is the time between two checks for new lines.
const followPause = 200 * time.Millisecond

// Read returns the matching lines of a log in order, each as a JSON object. It does not verify
// them. It can be used while the log is written. An error ends the sequence.
func Read(dir string, f Filter) iter.Seq2[json.RawMessage, error] {
	return func(yield func(json.RawMessage, error) bool) {
		if err := read(dir, f.Since, filters.Fits(&f), &place{}, yield); err != nil && !errors.Is(err, errEnough) {
			yield(nil, err)
		}
	}
}

// ReadAll returns the matching lines of several logs, such as those of replicas, in the order of
// their times. Lines of one log stay in their order. If there are several logs, each line has the
// folder of its log as the member "log". An error ends the sequence.
func ReadAll(dirs []string, f Filter) iter.Seq2[json.RawMessage, error] {
	if len(dirs) == 1 {
		return Read(dirs[0], f)
	}
	return func(yield func(json.RawMessage, error) bool) {
		logs := make([]pulled, 0, len(dirs))
		for _, dir := range dirs {
			next, stop := iter.Pull2(Read(dir, f))
			defer stop()
			p := pulled{dir: dir, next: next}
			if p.advance() {
				logs = append(logs, p)
			}
		}
		for len(logs) > 0 {
			first := 0
			for i := range logs {
				if logs[i].err != nil {
					yield(nil, logs[i].err)
					return
				}
				if logs[i].at.Before(logs[first].at) {
					first = i
				}
			}
			if !yield(inLog(logs[first].line, logs[first].dir), nil) {
				return
			}
			if !logs[first].advance() {
				logs = slices.Delete(logs, first, first+1)
			}
		}
	}
}

// inLog returns a line with the folder of its log as the member "log".
func inLog(line json.RawMessage, dir string) json.RawMessage {
	w := jsonrpc.NewObject(nil)
	_ = w.EncodedMembers(func(dst []byte) ([]byte, error) { return append(dst, line...), nil }) // cannot fail, as the line is an object
	w.String("log", dir)
	return w.Bytes()
}

// A pulled is a log whose lines are read one by one.
type pulled struct {
	dir  string
	next func() (json.RawMessage, error, bool)
	line json.RawMessage // the next line
	at   time.Time       // its time, or that of an earlier line if that is later
	err  error
}

// advance reads the next line. It reports false at the end of the log.
func (p *pulled) advance() (ok bool) {
	if p.line, p.err, ok = p.next(); !ok || p.err != nil {
		return ok
	}
	if at := (&line{object: p.line}).time(); at.After(p.at) { // clocks may have gone back
		p.at = at
	}
	return true
}

// Follow returns the matching lines that are written from now on, until ctx is done. It calls dirs
// for the folders of the logs again and again, as a process may begin a log. If there are several
// logs, each line has the folder of its log as the member "log". An error ends the sequence.
func Follow(ctx context.Context, dirs func() ([]string, error), f Filter) iter.Seq2[json.RawMessage, error] {
	return func(yield func(json.RawMessage, error) bool) {
		places := map[string]*place{}
		fits := filters.Fits(&f)
		readNew := func(since time.Time, fits func([]byte) bool) error {
			all, err := dirs()
			if err != nil {
				return err
			}
			for _, dir := range all {
				at := places[dir]
				if at == nil {
					at = new(place)
					places[dir] = at
				}
				if err := read(dir, since, fits, at, func(line json.RawMessage, err error) bool {
					if err == nil && len(all) > 1 {
						line = inLog(line, dir)
					}
					return yield(line, err)
				}); err != nil {
					return err
				}
			}
			return nil
		}
		err := readNew(time.Time{}, func([]byte) bool { return false }) // sets at to the ends of the logs
		ticker := time.NewTicker(followPause)
		defer ticker.Stop()
		for err == nil {
			select {
			case <-ticker.C:
				err = readNew(f.Since, fits)
			case <-ctx.Done():
				return
			}
		}
		if !errors.Is(err, errEnough) {
			yield(nil, err)
		}
	}
}

// errEnough reports that the caller needs no more lines.
var errEnough = errors.New("enough lines")

// A place is a position in a log. The lines before it have been read.
type place struct {
	file string
	at   int64 // offset after the last complete line
}

// read passes the matching lines after p to yield, and advances p. It skips files whose last write
// was before since.
func read(dir string, since time.Time, fits func(line []byte) bool, p *place, yield func(json.RawMessage, error) bool) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("audit: %w", err)
	}
	defer root.Close()
	files, err := listFiles(root)
	if err != nil {
		return fmt.Errorf("audit: %w", err)
	}
	for _, name := range files {
		if name < p.file {
			continue
		}
		if name > p.file {
			*p = place{file: name}
		}
		if err := readFile(root, since, fits, p, yield); err != nil {
			return err
		}
	}
	return nil
}

func readFile(root *os.Root, since time.Time, fits func(line []byte) bool, p *place, yield func(json.RawMessage, error) bool) error {
	file, err := root.Open(p.file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // the log removed the file
	}
	if err != nil {
		return fmt.Errorf("audit: %w", err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return fmt.Errorf("audit: %w", err)
	}
	if info.ModTime().Before(since) {
		return nil
	}
	from := p.at
	return eachLine(io.NewSectionReader(file, from, max(0, info.Size()-from)), func(text []byte, at int64) error {
		if text[len(text)-1] != '\n' {
			return nil // a partial line
		}
		p.at = from + at + int64(len(text))
		text = bytes.TrimSuffix(text, []byte("\n"))
		if jsonrpc.Valid(text, jsonrpc.Limits{}) == nil && fits(text) && !yield(bytes.Clone(text), nil) {
			return errEnough
		}
		return nil
	})
}
