package reach

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unicode"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/internal/filelock"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/recording"
	"github.com/spf13/pflag"
)

// RecordFlag defines the flag --record of commands whose messages can be recorded.
func RecordFlag(a *cli.App, f *pflag.FlagSet) {
	f.StringVar(&a.Flags.Record, "record", "", "write what is said between client and server to `FILE`, or to a new file in a folder (DIR/), without secrets; junction replay serves it again")
}

// StartRecording opens the file of --record, if it is set; it is closed when the command ends. In a
// folder, the name of a new file begins with that of the server, if it is not empty. With through,
// each message is written before it is passed on.
func StartRecording(a *cli.App, command, server string, through bool) error {
	if a.Flags.Record == "" {
		return nil
	}
	f, err := openRecording(a.Path(a.Flags.Record), cmp.Or(fileName(server), "junction"), time.Now())
	if err != nil {
		return fmt.Errorf("--record: %w", err)
	}
	r, err := recording.New(f, recording.Options{Program: "junction " + cli.Version + " " + command, Through: through, OnError: func(err error) {
		a.Screen.Printf("junction: --record %s: %v\n", a.Short(f.Name()), err)
	}})
	if err != nil {
		return fmt.Errorf("--record: %w", errors.Join(err, f.Close()))
	}
	a.Launch.Recorder = r
	a.Launch.AtEnd(&recorded{r, f})
	if f.Name() != a.Path(a.Flags.Record) {
		a.Screen.Printf("Recording to %s\n", a.Short(f.Name()))
	}
	a.Launch.HideVariables(a.Environ()) // the programs it starts inherit these
	return nil
}

// A recorded is a recorder with its file.
type recorded struct {
	recorder *recording.Recorder
	file     *os.File
}

// Close writes pending messages and closes the file. Errors of writing were printed before, and do
// not fail the command.
func (r *recorded) Close() error {
	_ = r.recorder.Close()
	return r.file.Close()
}

// openRecording opens a new file, or replaces an earlier recording. It returns an error for a file
// that another process records to.
func openRecording(path, name string, now time.Time) (*os.File, error) {
	if strings.HasSuffix(path, "/") || strings.HasSuffix(path, string(filepath.Separator)) {
		if err := os.MkdirAll(path, 0o700); err != nil {
			return nil, err
		}
		path = filepath.Join(path, fmt.Sprintf("%s-%s-%d.jsonl", name, now.UTC().Format("20060102-150405"), os.Getpid()))
	}
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is no file; end it with a slash if it is a folder for a file of each run", path)
	}
	f, err := filelock.Try(path)
	if errors.Is(err, filelock.ErrLocked) {
		return nil, fmt.Errorf("another process records to %s; name a folder (DIR/) for a file of each", path)
	}
	if err != nil {
		return nil, err
	}
	beginning := make([]byte, len(`{"recording":`))
	n, err := io.ReadFull(f, beginning)
	if n > 0 && !bytes.Equal(beginning[:n], []byte(`{"recording":`)) {
		err = fmt.Errorf("%s is there, and is no recording; it is not replaced", path)
	} else if errors.Is(err, io.EOF) {
		err = nil
	}
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err == nil {
		err = errors.Join(f.Truncate(0), f.Chmod(0o600))
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// fileName returns the name of a server in letters that are safe in file names.
func fileName(server string) string {
	return strings.Trim(strings.Map(func(r rune) rune {
		if r == '-' || r == '.' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) {
			return r
		}
		return '-'
	}, plaintext.Beginning(server, 60)), ".-")
}
