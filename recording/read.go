package recording

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/schema"
	"github.com/junction-mcp/junction/mcp"
)

// The limits of what is read.
const (
	maxCalls  = 200_000   // calls of a recording
	maxEvents = 1_000_000 // of all calls
	maxAsked  = 1_024     // requests of the server in one call
)

// A Recording is what a file holds.
type Recording struct {
	// Program wrote it, and Began says when.
	Program string
	Began   time.Time
	// Lost is how many messages are missing, as they could not be written in time, or were too long.
	Lost int
	// Whole says that the file ends where its Recorder was closed; else it ends in the middle, as after a crash.
	Whole bool

	calls []*call
}

// Servers are the names of those whose conversations the recording has, in the order of their first requests.
func (r *Recording) Servers() []string {
	var names []string
	for _, c := range r.calls {
		if !slices.Contains(names, c.server) {
			names = append(names, c.server)
		}
	}
	return names
}

// A call is one request, with all that happened until it was over.
type call struct {
	server, method string
	params         json.RawMessage
	caller         int
	declared       []string // what the client can be asked for
	at             float64  // when it began, in milliseconds
	line           int      // of the file, at which it began
	lastLine       int      // of its end; 0 if it has none
	steps          []step
	omitted        bool // what was asked is too long to be known

	last  float64        // when the last event of it was
	round int            // of the client, from 0
	asked []*ask         // everything that the server asked
	open  map[int64]*ask // what has no response yet, in this round
	again map[*ask]bool  // asked in this round
	group bool           // the last step asks the client, and the client was asked and may be asked more at once
}

// A step is what the server did, or did to the client.
type step struct {
	pause  float64 // milliseconds, since the last event
	at     float64
	line   int
	kind   string // eventNotification, eventServerRequest, eventResult, eventError or eventCancelled
	method string
	params json.RawMessage
	asks   []*ask // at the same time
	result mcp.Result
	err    *mcp.Error
	lost   bool // what it was is too long to be known
}

// An ask is a request of the server.
type ask struct {
	key, method string
	params      json.RawMessage
	answered    bool
	result      json.RawMessage
	err         *mcp.Error
}

// Read reads a recording. What was not written to its end is left out.
func Read(r io.Reader) (*Recording, error) {
	in := &reader{r: bufio.NewReaderSize(r, 64<<10), calls: map[int64]*call{}}
	text, whole, err := in.next()
	if err != nil {
		return nil, err
	}
	var first header
	if !whole || schema.DecodeLoose(text, &first) != nil || first.Recording == 0 {
		return nil, errors.New("this is no recording: its first line does not say so")
	}
	if first.Recording != format {
		return nil, fmt.Errorf("the recording has the format %d, and this junction knows %d: use a newer one", first.Recording, format)
	}
	in.out.Program = first.Program
	if in.out.Began, err = time.Parse(time.RFC3339Nano, first.Began); err != nil {
		return nil, fmt.Errorf("line 1: began: %w", err)
	}
	for {
		text, whole, err := in.next()
		if err != nil {
			return nil, err
		}
		if !whole { // nothing, or what a process did not write to its end
			return &in.out, nil
		}
		if len(bytes.TrimSpace(text)) == 0 {
			continue
		}
		if err := in.line(text); err != nil {
			return nil, fmt.Errorf("line %d: %w", in.at, err)
		}
	}
}

// A reader reads the lines of a file.
type reader struct {
	r      *bufio.Reader
	at     int // the line
	size   int // bytes so far
	events int
	calls  map[int64]*call // by number
	out    Recording
}

// next returns the next line; whole is false where it has no end.
func (in *reader) next() (text []byte, whole bool, err error) {
	in.at++
	for {
		part, err := in.r.ReadSlice('\n')
		text = append(text, part...)
		if in.size += len(part); in.size > MaxSize {
			return nil, false, fmt.Errorf("the recording has more than %d MiB", MaxSize>>20)
		}
		switch {
		case len(text) > maxLine:
			return nil, false, fmt.Errorf("line %d has more than %d MiB", in.at, maxLine>>20)
		case err == nil:
			return text, true, nil
		case errors.Is(err, io.EOF):
			return text, false, nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, false, err
		}
	}
}

// line takes a line up.
func (in *reader) line(text []byte) error {
	if fault := jsonrpc.Valid(text, jsonrpc.Limits{}); fault != nil {
		return errors.New(fault.Message)
	}
	var l line
	if err := schema.DecodeLoose(text, &l); err != nil {
		return err
	}
	if in.events++; in.events > maxEvents {
		return fmt.Errorf("the recording has more than %d events", maxEvents)
	}
	if l.Omitted > 0 {
		in.out.Lost++
	}
	in.out.Whole = l.Event == eventEnd
	switch l.Event {
	case eventLost:
		in.out.Lost += max(0, min(l.Lines, maxEvents))
		return nil
	case eventFull, eventEnd:
		return nil
	case eventRequest:
		return in.begin(&l)
	}
	c := in.calls[l.Call]
	if c == nil { // its beginning was lost
		in.out.Lost++
		return nil
	}
	if c.event(&l, in.at) {
		delete(in.calls, l.Call)
	}
	return nil
}

func (in *reader) begin(l *line) error {
	switch {
	case l.Method == "" || l.Call <= 0:
		return errors.New("a request needs a method, and the number of its call")
	case in.calls[l.Call] != nil:
		return fmt.Errorf("call %d begins a second time", l.Call)
	case len(in.out.calls) >= maxCalls:
		return fmt.Errorf("the recording has more than %d calls", maxCalls)
	case !isObject(l.Params):
		return errors.New("params: expected an object")
	}
	c := &call{server: l.Server, method: l.Method, params: l.Params, caller: l.Caller, declared: known(l.Capabilities), at: l.MS, last: l.MS, line: in.at, omitted: l.Omitted > 0}
	in.calls[l.Call] = c
	in.out.calls = append(in.out.calls, c)
	return nil
}

// isObject reports whether a member is an object, or not there.
func isObject(raw json.RawMessage) bool { return len(raw) == 0 || raw[0] == '{' }
