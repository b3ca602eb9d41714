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

// Limits of a recording that is read.
const (
	maxCalls  = 200_000   // calls in the recording
	maxEvents = 1_000_000 // events of all calls together
	maxAsked  = 1_024     // requests of the server in one call
)

// A Recording is the parsed content of a file.
type Recording struct {
	// Program is the name of the recording program, and Began the time of the beginning.
	Program string
	Began   time.Time
	// Lost is the number of messages that are missing because they could not be written in time or
	// were too long.
	Lost int
	// Whole reports whether the Recorder was closed. Otherwise the file ends early, for example
	// because the program crashed.
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

// A call is one request with all its events.
type call struct {
	server, method string
	params         json.RawMessage
	caller         int
	declared       []string // capabilities that the client declared
	at             float64  // time of the request, in milliseconds
	line           int      // line of the request in the file
	lastLine       int      // line of the last event; 0 if the call did not end
	steps          []step
	omitted        bool // whether the request was too long to record

	last  float64        // time of the last event so far
	round int            // number of the current round, from 0
	asked []*ask         // all requests of the server
	open  map[int64]*ask // requests of this round that have no response, by number
	again map[*ask]bool  // requests that this round has repeated or added
	group bool           // whether further requests join the last step, because none of its requests has a response
}

// A step is an action of the server in a call, or the client's cancellation.
type step struct {
	pause  float64 // milliseconds since the previous event
	at     float64
	line   int
	kind   string // eventNotification, eventServerRequest, eventResult, eventError or eventCancelled
	method string
	params json.RawMessage
	asks   []*ask // requests that the server sent at the same time
	result mcp.Result
	err    *mcp.Error
	lost   bool // whether the content was too long to record
}

// An ask is a request of the server with the client's response.
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
		return nil, errors.New("this is not a recording: its first line is not the header of one")
	}
	if first.Recording != format {
		return nil, fmt.Errorf("the recording has the format %d, but this junction reads %d: use a newer one", first.Recording, format)
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
		if !whole { // the end of the file or an incomplete line
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
	at     int // number of the current line
	size   int // number of bytes read
	events int
	calls  map[int64]*call // calls that have not ended, by number
	out    Recording
}

// next returns the next line. whole is false for the text at the end of the file without a line
// feed.
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

// line adds the content of a line to the recording.
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
	if c == nil { // the line with its beginning was dropped
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
		return errors.New("a request needs a method and the number of its call")
	case in.calls[l.Call] != nil:
		return fmt.Errorf("call %d begins a second time", l.Call)
	case len(in.out.calls) >= maxCalls:
		return fmt.Errorf("the recording has more than %d calls", maxCalls)
	case !isObject(l.Params):
		return errors.New("params: expected an object")
	}
	c := &call{server: l.Server, method: l.Method, params: l.Params, caller: l.Caller, declared: recordedNames(l.Capabilities), at: l.MS, last: l.MS, line: in.at, omitted: l.Omitted > 0}
	in.calls[l.Call] = c
	in.out.calls = append(in.out.calls, c)
	return nil
}

// isObject reports whether a member is an object or missing.
func isObject(raw json.RawMessage) bool { return len(raw) == 0 || raw[0] == '{' }
