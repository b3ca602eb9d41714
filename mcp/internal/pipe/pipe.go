package pipe

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/tolerance"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/internal/lines"
	"github.com/junction-mcp/junction/mcp/internal/link"
)

// Limits and times of a link.
const (
	maxOut    = 64                     // messages that wait to be written
	maxSmall  = 64 << 10               // maximum bytes of such a message; the sender of a larger one waits until it is written, or withdraws it
	graceTime = time.Second            // wait for responses after writing failed
	flushTime = 250 * time.Millisecond // wait of Close for messages that were sent before it
)

// Options holds the settings of a link.
type Options struct {
	// Name is the server's name in errors.
	Name string
	// MaxMessage is the maximum size of an accepted message in bytes; the default is 16 MiB.
	MaxMessage int
	// Describe, if not nil, is called once when the server's output has ended. It returns an error
	// to add and wrap, such as the exit status and the end of standard error, or nil. It may take
	// some time.
	Describe func() error
	// Skipped, if not nil, is called with the first lines that are not messages, cleaned for
	// display.
	Skipped func(line string)
	// Logger receives records of the server's faults; the default is slog.Default().
	Logger *slog.Logger
}

// New returns a link over a pair of byte streams, which the link then owns. Closing the link closes
// rw, which must end a blocked Read or Write.
func New(rw io.ReadWriteCloser, o Options) link.Link {
	o.MaxMessage = cmp.Or(max(o.MaxMessage, 0), mcp.DefaultMaxMessage)
	s := &streams{
		Inbox:    NewInbox(o.Name, o.Logger),
		rw:       rw,
		in:       lines.NewReader(rw, o.MaxMessage),
		w:        lines.NewWriter(rw),
		describe: o.Describe,
		out:      make(chan outgoing, maxOut),
		one:      make(chan struct{}, 1),
		closing:  make(chan struct{}),
		written:  make(chan struct{}),
	}
	s.gather.most = o.MaxMessage
	s.skipped.onSkip = o.Skipped
	s.running.Go(s.read)
	s.running.Go(s.write)
	return s
}

// streams is a link over a pair of byte streams. One goroutine reads and another one writes. So a
// server that does not read cannot block a caller beyond its context.
type streams struct {
	*Inbox
	rw       io.ReadWriteCloser
	in       *lines.Reader
	w        *lines.Writer
	describe func() error
	out      chan outgoing
	one      chan struct{} // contains a value while out has a large message, so that withdrawn large messages do not fill out
	running  sync.WaitGroup
	gather   gatherer // for the goroutine that reads

	closeOnce sync.Once
	closing   chan struct{}
	written   chan struct{} // closed when writing has ended
	closeErr  error
}

// Call implements [link.Link].
func (s *streams) Call(ctx context.Context, out link.Out, _ func(*jsonrpc.Message)) (*jsonrpc.Message, error) {
	c, err := s.Expect(out)
	if err != nil {
		return nil, err
	}
	if err := s.send(ctx, out.Message); err != nil {
		return c.Fail(err)
	}
	m, err := c.Wait(ctx)
	if err != nil && ctx.Err() != nil {
		err = link.WithStray(s, err)
	}
	return m, err
}

// Stray implements the method that [link.WithStray] needs.
func (s *streams) Stray() string { return s.skipped.seen() }

// Send implements [link.Link].
func (s *streams) Send(ctx context.Context, out link.Out) error {
	if err := s.send(ctx, out.Message); err != nil {
		return fmt.Errorf("%s: send a message: %w", s.name, err)
	}
	return nil
}

// An outgoing is a message that waits to be written. The sender of a large one waits until writing
// begins, and can withdraw the message before.
type outgoing struct {
	small []byte
	large *large
}

type large struct {
	message atomic.Pointer[[]byte] // nil after the message was taken to be written, or withdrawn
	taken   chan struct{}          // closed when the message is taken to be written
}

// take returns the message, or nil if its sender withdrew it.
func (s *streams) take(o outgoing) []byte {
	if o.large == nil {
		return o.small
	}
	<-s.one
	message := o.large.message.Swap(nil)
	if message == nil {
		return nil
	}
	close(o.large.taken)
	return *message
}

// send passes a message to the goroutine that writes.
func (s *streams) send(ctx context.Context, message []byte) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	select {
	case <-s.done:
		return s.cause()
	default:
	}
	if len(message) > maxSmall {
		return s.sendLarge(ctx, message)
	}
	select {
	case s.out <- outgoing{small: message}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-s.done:
		return s.cause()
	}
}

// sendLarge returns when the message is being written. When ctx is done first, it withdraws the
// message.
func (s *streams) sendLarge(ctx context.Context, message []byte) error {
	select {
	case s.one <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-s.done:
		return s.cause()
	}
	l := &large{taken: make(chan struct{})}
	l.message.Store(&message)
	select {
	case s.out <- outgoing{large: l}:
	case <-ctx.Done():
		<-s.one
		return context.Cause(ctx)
	case <-s.done:
		return s.cause()
	}
	var err error
	select {
	case <-l.taken:
		return nil
	case <-ctx.Done():
		err = context.Cause(ctx)
	case <-s.done:
		err = s.cause()
	}
	if l.message.Swap(nil) == nil {
		return nil // the message is being written
	}
	return err
}

// write writes messages until the link is closed or done.
func (s *streams) write() {
	defer close(s.written)
	for {
		select {
		case o := <-s.out:
			if err := s.writeAll(o); err != nil {
				wait := time.NewTimer(graceTime)
				defer wait.Stop()
				select {
				case <-s.done:
				case <-s.closing:
				case <-wait.C:
					s.Fail(fmt.Errorf("writing to it failed: %w", err))
				}
				return
			}
		case <-s.done:
			return
		case <-s.closing:
			if len(s.out) == 0 {
				return
			}
		}
	}
}

// writeAll writes a message together with the messages queued behind it.
func (s *streams) writeAll(o outgoing) error {
	for {
		if message := s.take(o); message != nil {
			if err := s.w.Gather(context.Background(), message); err != nil {
				return err
			}
		}
		select {
		case o = <-s.out:
		default:
			return s.w.Flush()
		}
	}
}

// read reads the server's lines until its output ends.
func (s *streams) read() {
	for {
		line, err := s.in.Next()
		switch {
		case err == nil:
			s.takeLine(line)
		case errors.Is(err, lines.ErrTooLong):
			s.Lost(err)
		default:
			s.takeStray(s.gather.drop())
			s.Fail(s.ended(err))
			return
		}
	}
}

// takeLine processes one line, which is a message or a part of one.
func (s *streams) takeLine(line []byte) {
	if s.in.Marked() {
		tolerance.ByteOrderMark.Met(context.Background(), s.log, s.name, "standard output")
	}
	gathering := len(s.gather.lines) > 0
	var fault *jsonrpc.Error
	if jsonrpc.IsBatch(line) {
		if !gathering {
			_, _, fault = SplitBatch(line, maxBatch)
		}
		if !gathering && (fault == nil || fault.Code != jsonrpc.ParseError) {
			s.Take(line)
			return
		}
	} else {
		m := new(jsonrpc.Message)
		if *m, fault = Parse(line); fault == nil {
			if gathering {
				s.takeStray(s.gather.drop())
				s.skipped.hold(nil)
			}
			s.accept(m, len(line))
			return
		}
		if !gathering && fault.Code != jsonrpc.ParseError {
			s.refuse(line, m.ID, fault)
			return
		}
	}
	message, stray := s.gather.add(line)
	s.takeStray(stray)
	s.skipped.hold(s.gather.lines)
	if message != nil {
		tolerance.SeveralLines.Met(context.Background(), s.log, s.name, "standard output")
		s.Take(message)
	}
}

// takeStray sorts lines that belong to no message of several lines.
func (s *streams) takeStray(lines [][]byte) {
	for _, line := range lines {
		s.Take(line)
	}
}

// ended returns the error for the end of the server's output.
func (s *streams) ended(err error) error {
	select {
	case <-s.closing:
		return mcp.ErrClosed
	default:
	}
	found := "its output ended"
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	} else {
		found = "reading its output failed: " + err.Error()
	}
	e := &end{found, []error{err}}
	if s.describe != nil {
		if more := s.describe(); more != nil {
			e.text += "; " + more.Error()
			e.errs = append(e.errs, more)
		}
	}
	return e
}

// An end is an error with its own text.
type end struct {
	text string
	errs []error
}

func (e *end) Error() string   { return e.text }
func (e *end) Unwrap() []error { return e.errs }

// Close implements [link.Link]. It waits a moment for messages that were sent before it, and then
// closes the streams.
func (s *streams) Close() error {
	s.closeOnce.Do(func() {
		close(s.closing)
		moment := time.NewTimer(flushTime)
		defer moment.Stop()
		select {
		case <-s.written:
		case <-moment.C:
		}
		s.Closed()
		s.closeErr = s.rw.Close()
		s.running.Wait()
	})
	return s.closeErr
}

// ClosingCancels implements [link.Link]. It returns false, as a call has no channel of its own.
func (s *streams) ClosingCancels() bool { return false }

// Way implements the method that [link.WayOf] needs.
func (s *streams) Way() link.Way {
	network, address, port := lines.RemoteOf(s.rw)
	return link.Way{Network: network, Address: address, Port: port}
}
