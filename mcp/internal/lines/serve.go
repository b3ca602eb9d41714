package lines

import (
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

// maxIdle is how many goroutines wait to read: one reads, one stands by.
const maxIdle = 2

// replySize is the room that a goroutine begins with for its replies.
const replySize = 1 << 10

// Serve answers the messages of one client until r ends or ctx is done. When
// ctx is done it calls interrupt, which makes a Read of r that waits return. A
// nil interrupt says that nothing can: then one goroutine stays in that Read
// when Serve returns, and drops what it reads. Serve returns nil at the end of
// r, when everything that was asked is answered or the drain time is over.
func Serve(ctx context.Context, e *edge.Edge, r io.Reader, w io.Writer, interrupt func(), o mcp.ServeOptions) error {
	if o.MaxMessage <= 0 {
		o.MaxMessage = mcp.DefaultMaxMessage
	}
	if o.DrainTimeout <= 0 {
		o.DrainTimeout = mcp.DefaultDrainTimeout
	}
	s := &serving{in: NewReader(r, o.MaxMessage), out: NewWriter(w), end: make(chan struct{})}
	s.free = sync.NewCond(&s.turn)
	s.connection = e.NewConnection(context.WithoutCancel(ctx), s.out, nil)
	s.idle.Store(1)
	s.workers.Add(1)
	go s.work()
	select {
	case <-s.end:
	case <-ctx.Done():
		s.stopped.Store(true)
		if interrupt != nil {
			interrupt()
			<-s.end
		}
	}
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), o.DrainTimeout)
	defer cancel()
	s.connection.Drain(drain)
	s.connection.Close()
	await(s.jobs.Wait, o.DrainTimeout)
	if interrupt != nil {
		await(s.workers.Wait, o.DrainTimeout)
	}
	await(s.out.finish, o.DrainTimeout)
	if err := s.out.failed(); err != nil {
		return err
	}
	return s.failed()
}

// takeTurn waits until nobody else reads. A goroutine that comes back for the
// next message may get ahead of one that was woken for it, which spares a switch
// between the two. (A mutex held while reading would do the same, but is nothing
// that tests of time can wait for.)
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

// failed is why reading ended, if it was not the end of the stream or ours.
func (s *serving) failed() error {
	if s.stopped.Load() {
		return nil
	}
	return s.err
}

// A serving is one client being served.
type serving struct {
	in         *Reader
	out        *Writer
	connection *edge.Connection

	stopped atomic.Bool // reading is over by our will

	turn    sync.Mutex     // guards reading
	free    *sync.Cond     // told when nobody reads any more
	reading bool           // somebody reads
	idle    atomic.Int32   // goroutines that read or wait to
	more    atomic.Bool    // another message lies ready: its reader will flush
	workers sync.WaitGroup // the goroutines
	jobs    sync.WaitGroup // the messages they handle

	end  chan struct{} // closed when there is nothing more to read
	over bool          // the same, for those whose turn it is
	err  error         // why, if not the end of the stream; set before end closes
}

// work reads messages and handles them, until there are enough others to do so.
func (s *serving) work() {
	defer s.workers.Done()
	buffer := make([]byte, 0, replySize)
	var job edge.Job
	for {
		if !s.read(&job) {
			return
		}
		reply := job.Run(buffer[:0])
		if reply != nil {
			if buffer = s.out.Give(reply); cap(buffer) > maxGathered {
				buffer = nil
			}
		}
		s.jobs.Done()
		if !s.more.Load() {
			s.out.Flush()
		}
		if s.idle.Add(1) > maxIdle {
			s.idle.Add(-1)
			return
		}
	}
}

// read takes messages until there is a job, and sees to it that somebody reads
// on. Before it waits it sends what was gathered.
func (s *serving) read(job *edge.Job) bool {
	s.takeTurn()
	defer s.passTurn()
	for !s.over {
		if !s.in.Ready() {
			s.more.Store(false)
			s.out.Flush()
		}
		line, err := s.in.Next()
		switch {
		case s.stopped.Load():
			s.finish(io.EOF)
			continue
		case errors.Is(err, ErrTooLong):
			s.out.Gather(jsonrpc.AppendError(nil, "", jsonrpc.Errorf(jsonrpc.InvalidRequest, "%v", err)))
			continue
		case err != nil:
			s.finish(err)
			continue
		case !s.connection.Accept(job, line):
			continue
		}
		s.jobs.Add(1)
		s.more.Store(s.in.Ready())
		if s.idle.Add(-1) == 0 {
			s.idle.Add(1)
			s.workers.Add(1)
			go s.work()
		}
		return true
	}
	return false
}

func (s *serving) finish(err error) {
	s.over = true
	if err != io.EOF {
		s.err = err
	}
	close(s.end)
}

// await waits for the end of something at most as long as given: a Handler that
// does not heed its context, or a client that does not read, must not keep a
// process alive.
func await(end func(), most time.Duration) {
	done := make(chan struct{})
	go func() {
		end()
		close(done)
	}()
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
	}
}
