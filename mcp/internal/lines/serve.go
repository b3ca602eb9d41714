package lines

import (
	"cmp"
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/internal/edge"
)

const (
	// maxIdle is the maximum number of goroutines without a message to handle. One reads, and
	// another takes over the reading.
	maxIdle = 2
	// maxUnanswered is the maximum number of bytes of requests to read while responses cannot be
	// written. It is large enough to read a cancellation that follows a few requests.
	maxUnanswered = 256 << 10
	// replySize is the initial size of the reply buffer of a goroutine.
	replySize = 1 << 10
)

// Serve handles the messages of one client until r ends, w fails or ctx is done. When ctx is done
// or w fails, it calls interrupt, which must make a blocked Read of r return. If interrupt is nil,
// one goroutine remains in that Read when Serve returns, and drops its input. After the end of r,
// Serve returns nil once every request has its response or the drain time is over. After an error
// of w, it returns that error at once.
//
// Serve stops reading from a client that does not read its responses. Once maxGathered bytes wait
// to be written, no further request begins to run. Serve then reads only until maxUnanswered bytes
// of requests wait. A Write of w may take as long as w allows.
func Serve(ctx context.Context, e *edge.Edge, r io.Reader, w io.Writer, interrupt func(), o mcp.ServeOptions) error {
	o.MaxMessage = cmp.Or(max(o.MaxMessage, 0), mcp.DefaultMaxMessage)
	o.DrainTimeout = cmp.Or(max(o.DrainTimeout, 0), mcp.DefaultDrainTimeout)
	s := &serving{in: NewReader(r, o.MaxMessage), out: NewWriter(w), end: make(chan struct{})}
	widen(w)
	s.free = sync.NewCond(&s.turn)
	var cancel context.CancelFunc
	s.ctx, cancel = context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	s.readCtx, s.stopReading = context.WithCancel(s.ctx)
	s.connection = e.NewConnection(s.ctx, s.out, nil)
	s.connection.Way = socket{r}
	s.idle.Store(1)
	s.workers.Add(1)
	go s.work()
	select {
	case <-s.end:
	case <-s.out.broken:
		s.stop(interrupt, o.DrainTimeout)
	case <-ctx.Done():
		s.stop(interrupt, o.DrainTimeout)
	}
	s.connection.EndInput()
	s.drain(o.DrainTimeout)
	cancel()
	await(s.jobs.Wait, o.DrainTimeout)
	if interrupt != nil {
		await(s.workers.Wait, o.DrainTimeout)
	}
	await(s.out.finish, o.DrainTimeout)
	if err := s.out.failed(); err != nil {
		return err
	}
	if s.stopped.Load() {
		return nil
	}
	return s.err
}

// A serving is one client being served. At any time, one of its goroutines reads. When it has read
// a message, it lets another goroutine continue to read, and handles the message itself. So a
// single call needs no switch of goroutines.
type serving struct {
	in         *Reader
	out        *Writer
	connection *edge.Connection
	ctx        context.Context // ends when responses may no longer wait for the client

	stopped     atomic.Bool     // set when this side ended the reading
	readCtx     context.Context // ends with stopped
	stopReading context.CancelFunc

	turn    sync.Mutex     // guards reading
	free    *sync.Cond     // signalled when reading is false
	reading bool           // set while a goroutine reads
	idle    atomic.Int32   // number of goroutines that read or wait to read
	more    atomic.Bool    // set if another message is ready, whose reader flushes the output
	workers sync.WaitGroup // the goroutines
	jobs    sync.WaitGroup // the messages they handle

	end  chan struct{} // closed when reading has ended
	over bool          // set when reading has ended; for the goroutine that reads
	err  error         // why reading ended, unless the stream ended; set before end is closed
}

// stop ends reading. It waits for the reader, at most for limit, as the reader may be in a
// handshake, which takes as long as the Handler.
func (s *serving) stop(interrupt func(), limit time.Duration) {
	s.stopped.Store(true)
	s.stopReading()
	if interrupt != nil {
		interrupt()
		await(func() { <-s.end }, limit)
	}
}

// drain waits for running requests, unless writing failed, and then ends them. Responses that wait
// for the client get the remaining time.
func (s *serving) drain(limit time.Duration) {
	until := time.Now().Add(limit)
	ctx, cancel := context.WithDeadline(s.ctx, until)
	defer cancel()
	if s.out.failed() == nil {
		s.connection.Drain(ctx)
	}
	await(s.connection.Close, limit) // a client that reads nothing blocks its notifications
	if s.out.failed() == nil {
		await(s.jobs.Wait, time.Until(until))
	}
}

// work reads and handles messages, until enough other goroutines handle messages.
func (s *serving) work() {
	defer s.workers.Done()
	buffer := make([]byte, 0, replySize)
	var job edge.Job
	for s.read(&job) {
		if s.out.full() {
			buffer = nil // the buffer may be large, and the wait long
			s.out.waitRoom(s.ctx)
		}
		if reply := job.Run(buffer[:0]); reply != nil {
			if buffer = s.out.Give(s.ctx, reply); cap(buffer) > maxGathered {
				buffer = nil
			}
		}
		s.jobs.Done()
		if !s.more.Load() || s.out.due() {
			s.out.Flush()
		}
		if s.idle.Add(1) > maxIdle {
			s.idle.Add(-1)
			return
		}
	}
}

// read accepts messages until one needs a job, and then lets another goroutine read. It reports
// false at the end of the input.
func (s *serving) read(job *edge.Job) bool {
	s.takeTurn()
	defer s.passTurn()
	for !s.over {
		if !s.in.Ready() {
			s.more.Store(false)
			if s.out.pending() {
				s.flushAside()
				continue
			}
		}
		if s.out.full() && s.connection.Held() > maxUnanswered {
			s.out.waitRoom(s.readCtx)
		}
		line, err := s.in.Next()
		switch {
		case s.stopped.Load():
			s.finish(io.EOF)
			continue
		case errors.Is(err, ErrTooLong):
			s.out.Gather(s.readCtx, jsonrpc.AppendError(nil, "", jsonrpc.Errorf(jsonrpc.InvalidRequest, "%v", err)))
			continue
		case err != nil:
			s.finish(err)
			continue
		case !s.connection.Accept(job, line):
			continue
		}
		s.jobs.Add(1)
		s.more.Store(s.in.Ready())
		s.busy()
		return true
	}
	return false
}

// busy records that this goroutine no longer reads. If it was the last one, busy starts another.
func (s *serving) busy() {
	if s.idle.Add(-1) == 0 {
		s.idle.Add(1)
		s.workers.Add(1)
		go s.work()
	}
}

// flushAside writes while another goroutine reads. A client that does not read its responses may
// still cancel its requests.
func (s *serving) flushAside() {
	s.passTurn()
	s.busy()
	s.out.Flush()
	s.idle.Add(1)
	s.takeTurn()
}

// takeTurn waits until no other goroutine reads. A goroutine that comes back for its next message
// may overtake a waiting one, which saves a switch. (A mutex held while reading would do the same,
// but synctest does not wait for mutexes.)
func (s *serving) takeTurn() {
	s.turn.Lock()
	defer s.turn.Unlock()
	for s.reading {
		s.free.Wait()
	}
	s.reading = true
}

func (s *serving) passTurn() {
	s.turn.Lock()
	defer s.turn.Unlock()
	s.reading = false
	s.free.Signal()
}

func (s *serving) finish(err error) {
	s.over = true
	if err != io.EOF {
		s.err = err
	}
	close(s.end)
}

// await waits for end to return, at most for limit. A Handler that ignores its context, or a client
// that does not read, must not keep a process alive.
func await(end func(), limit time.Duration) {
	done := make(chan struct{})
	go func() {
		end()
		close(done)
	}()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
	}
}
