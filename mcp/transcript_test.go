package mcp_test

import (
	"bufio"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rogpeppe/go-internal/txtar"
)

// A transcript is a conversation on the wire. Each file in testdata/transcripts begins with the
// rule that it shows and its place in the specification. Each of its sections is a conversation of
// its own, line by line:
//
//	# a remark
//	-> {…}        the client sends this
//	<- {…}        the server sends this, next
//	~> {…} <~ {…} the same in any order with the lines of this kind around it
//	"-> "…"       the client sends these bytes (a Go string), with no line end added
//	"<- "…"       the server does
//	!-> !<-       nothing comes
//	eof-> eof<-   that side closes its output
//	wait 5s       time passes
//	set NAME …    an option; comes before everything else
//	do …          something happens on the side under test
//	on NAME       the following lines use the connection of this name
//
// and, if the client is tested,
//
//	connect       the client connects
//	done NAME {…} the deed begun with "do NAME: …" ends, with this outcome
//	fails NAME …  it fails, and the error contains each of these Go strings
//	heard …       a callback of the client was called
//
// JSON is compared by structure; see [match] for patterns in place of values and [expand] for
// abbreviations. If fake is set, time is that of synctest: nothing sleeps, and a goroutine that
// outlives its conversation fails the test.
type transcript struct {
	t     *testing.T
	fake  bool
	steps []step
	where string
	vars  map[string]any
	ours  side
	lines map[string]*wire // connections by name
	on    *wire
}

// A step is one line of a conversation.
type step struct {
	line int
	verb string
	text string
}

// A side is one of the two test subjects, a server or a client.
type side interface {
	// set sets an option, before anything else.
	set(name, value string) error
	// open returns the next connection to the side under test.
	open(tr *transcript, name string) *wire
	// run runs a step that only this side has. It returns false for an unknown verb.
	run(tr *transcript, s step) bool
	// close ends everything.
	close(tr *transcript)
}

// runTranscripts runs every conversation in the folder.
func runTranscripts(t *testing.T, folder string, fake bool, newSide func() side) {
	files, err := filepath.Glob(filepath.Join("testdata", "transcripts", folder, "*.txtar"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no transcripts: %v", err)
	}
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			if len(strings.TrimSpace(string(archive.Comment))) < 20 {
				t.Error("the file does not begin with the rule that it shows")
			}
			for _, section := range archive.Files {
				text := "\n" + string(section.Data)
				timed := strings.Contains(text, "\nwait ") || strings.Contains(text, "\ndo release")
				if !fake && timed || fake && strings.Contains(text, "\nset only stream\n") {
					continue
				}
				t.Run(section.Name, func(t *testing.T) {
					converse := func(t *testing.T) {
						tr := &transcript{t: t, fake: fake, where: file, vars: map[string]any{}, ours: newSide(), lines: map[string]*wire{}}
						tr.parse(section.Data)
						tr.run()
					}
					if fake {
						synctest.Test(t, converse)
					} else {
						converse(t)
					}
				})
			}
		})
	}
}

var verbs = regexp.MustCompile(`^(->|<-|~>|<~|"->|"<-|!->|!<-|eof->|eof<-|wait|set|do|on|connect|done|fails|heard|!heard)(?: (.*))?$`)

func (tr *transcript) parse(data []byte) {
	for i, text := range strings.Split(string(data), "\n") {
		text = strings.TrimSpace(text)
		if text == "" || text[0] == '#' {
			continue
		}
		parts := verbs.FindStringSubmatch(text)
		if parts == nil {
			tr.t.Fatalf("%s: line %d of the section: what is %q?", tr.where, i+1, text)
		}
		tr.steps = append(tr.steps, step{i + 1, parts[1], parts[2]})
	}
}

func (tr *transcript) run() {
	defer tr.ours.close(tr)
	for len(tr.steps) > 0 && !tr.t.Failed() {
		s := tr.steps[0]
		tr.steps = tr.steps[1:]
		tr.step(s)
	}
}

func (tr *transcript) step(s step) {
	switch s.verb {
	case "set":
		name, value, _ := strings.Cut(s.text, " ")
		if err := tr.ours.set(name, value); err != nil {
			tr.fatal(s, "%v", err)
		}
	case "wait":
		d, err := time.ParseDuration(s.text)
		if err != nil {
			tr.fatal(s, "%v", err)
		}
		time.Sleep(d)
	case "on":
		if tr.on = tr.lines[s.text]; tr.on == nil {
			tr.on = tr.ours.open(tr, s.text)
			tr.lines[s.text] = tr.on
		}
	default:
		if !tr.ours.run(tr, s) {
			tr.fatal(s, "%q has no meaning here", s.verb)
		}
	}
}

// talk runs a step on the wire. out reports whether the test sends it.
func (tr *transcript) talk(s step, out bool) {
	if tr.on == nil {
		tr.step(step{s.line, "on", "the connection"})
	}
	kind := strings.Trim(s.verb, "<>")
	switch {
	case s.verb[0] == '!':
		tr.settle()
		if line, ok := tr.on.take(); ok {
			tr.fatal(s, "expected nothing, got %s", line)
		}
	case strings.HasPrefix(s.verb, "eof") && out:
		tr.on.out.Close()
	case strings.HasPrefix(s.verb, "eof"):
		tr.expectEnd(s)
	case out && strings.Contains(kind, `"`):
		text, err := strconv.Unquote(s.text)
		if err != nil {
			tr.fatal(s, "%v", err)
		}
		tr.send(s, expand(text, tr.vars))
	case out:
		tr.send(s, expand(s.text, tr.vars)+"\n")
	case kind == "~":
		tr.expectAny(s)
	default:
		tr.expect(s)
	}
}

func (tr *transcript) send(s step, text string) {
	if _, err := io.WriteString(tr.on.out, text); err != nil {
		tr.fatal(s, "send: %v", err)
	}
	if tr.fake {
		synctest.Wait()
	}
}

// settle waits until nothing more happens on its own. Without fake time it only waits a little.
func (tr *transcript) settle() {
	if tr.fake {
		synctest.Wait()
		return
	}
	time.Sleep(10 * time.Millisecond)
}

func (tr *transcript) next(s step) string {
	if tr.fake {
		synctest.Wait()
	}
	line, ok := tr.on.take()
	for end := time.Now().Add(5 * time.Second); !ok && !tr.fake && time.Now().Before(end); line, ok = tr.on.take() {
		time.Sleep(time.Millisecond)
	}
	if !ok {
		tr.fatal(s, "nothing came; expected %s", s.text)
	}
	return line
}

func (tr *transcript) expect(s step) {
	line := tr.next(s)
	if err := matchText(expand(s.text, nil), line, tr.vars); err != nil {
		tr.fatal(s, "%v\n got  %s\n want %s", err, line, s.text)
	}
}

// expectAny expects the lines of one unordered group.
func (tr *transcript) expectAny(s step) {
	wanted := []step{s}
	for len(tr.steps) > 0 && tr.steps[0].verb == s.verb {
		wanted = append(wanted, tr.steps[0])
		tr.steps = tr.steps[1:]
	}
	for len(wanted) > 0 {
		line := tr.next(wanted[0])
		var errs []error
		for i, w := range wanted {
			err := matchText(expand(w.text, nil), line, tr.vars)
			if err == nil {
				wanted = append(wanted[:i:i], wanted[i+1:]...)
				errs = nil
				break
			}
			errs = append(errs, err)
		}
		if errs != nil {
			tr.fatal(wanted[0], "unexpected %s: %v", line, errs)
		}
	}
}

func (tr *transcript) expectEnd(s step) {
	tr.settle()
	for end := time.Now().Add(2 * time.Minute); !tr.on.over() && !tr.fake && time.Now().Before(end); {
		tr.settle()
	}
	if line, ok := tr.on.take(); ok {
		tr.fatal(s, "expected the end, got %s", line)
	}
	if !tr.on.over() {
		tr.fatal(s, "expected the end, and the other side is still open")
	}
}

func (tr *transcript) fatal(s step, format string, args ...any) {
	tr.t.Helper()
	tr.t.Fatalf("%s: line %d of the section (%s): %s", tr.where, s.line, s.verb, fmt.Sprintf(format, args...))
}

// A wire is the far end of one connection. It keeps everything it receives.
type wire struct {
	out    *io.PipeWriter
	in     *io.PipeReader
	reader sync.WaitGroup

	mu    sync.Mutex
	lines []string
	ended bool
}

// newWire returns both ends of a connection: that of the test, and that of the subject.
func newWire() (*wire, *duplex) {
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	w := &wire{out: outW, in: inR}
	w.reader.Go(w.read)
	return w, &duplex{PipeReader: outR, PipeWriter: inW}
}

func (w *wire) read() {
	lines := bufio.NewReader(w.in)
	for {
		line, err := lines.ReadString('\n')
		w.mu.Lock()
		if line != "" {
			w.lines = append(w.lines, strings.TrimSuffix(line, "\n"))
		}
		w.ended = err != nil
		w.mu.Unlock()
		if err != nil {
			return
		}
	}
}

func (w *wire) take() (string, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.lines) == 0 {
		return "", false
	}
	line := w.lines[0]
	w.lines = w.lines[1:]
	return line, true
}

func (w *wire) over() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.ended
}

func (w *wire) close() {
	w.out.Close()
	w.in.Close()
	w.reader.Wait()
}

// A duplex is a connection in memory whose two directions close independently.
type duplex struct {
	*io.PipeReader
	*io.PipeWriter
}

func (d *duplex) Close() error {
	d.PipeReader.Close()
	return d.PipeWriter.Close()
}
