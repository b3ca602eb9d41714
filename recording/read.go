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

// Limits of a recording to read.
const (
	maxCalls  = 200_000   // calls of a recording
	maxEvents = 1_000_000 // events of all calls
	maxAsked  = 1_024     // requests of the server in one call
)

// A Recording is the content of a file.
type Recording struct {
	// Program is the name of the recording program, and Began the time of the start.
	Program string
	Began   time.Time
	// Lost is the number of missing messages, which could not be written in time, or were too long.
	Lost int
	// Whole reports whether the Recorder was closed. Otherwise the file ends early, as after a
	// crash.
	Whole bool

	calls []*call
}

// Servers returns the names of the recorded servers, in the order of their first requests.
func (r *Recording) Servers() []string {
	var names []string
	for _, c := range r.calls {
		if !slices.Contains(names, c.server) {
			names = append(names, c.server)
		}
	}
	return names
}

// A call is one request, with all events until its end.
type call struct {
	server, method string
	params         json.RawMessage
	caller         int
	declared       []string // capabilities of the client for requests of the server
	at             float64  // time of the beginning, in milliseconds
	line           int      // line of the beginning in the file
	lastLine       int      // line of the end; 0 without one
	steps          []step
	omitted        bool // the request was too long to record

	last  float64        // time of its last event
	round int            // round of the client, from 0
	asked []*ask         // all requests of the server
	open  map[int64]*ask // requests without a response in this round
	again map[*ask]bool  // requests of this round
	group bool           // whether the last step is a request to the client without a response, which more requests may join
}

// A step is an action of the server in a call, or the cancellation.
type step struct {
	pause  float64 // milliseconds since the last event
	at     float64
	line   int
	kind   string // eventNotification, eventServerRequest, eventResult, eventError or eventCancelled
	method string
	params json.RawMessage
	asks   []*ask // simultaneous requests
	result mcp.Result
	err    *mcp.Error
	lost   bool // it was too long to record
}

// An ask is a request of the server.
type ask struct {
	key, method string
	params      json.RawMessage
	answered    bool
	result      json.RawMessage
	err         *mcp.Error
}

// Read reads a recording. It ignores an incomplete last line.
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
		if !whole { // the end, or an incomplete line
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
	at     int // number of the line
	size   int // bytes so far
	events int
	calls  map[int64]*call // by number
	out    Recording
}

// next returns the next line; whole is false if the line has no end.
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

// line adds a line to the recording.
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

// isObject reports whether a member is an object or missing.
func isObject(raw json.RawMessage) bool { return len(raw) == 0 || raw[0] == '{' }
