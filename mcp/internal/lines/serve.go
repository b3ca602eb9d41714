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

// Serve answers the messages of one client until r ends or ctx is done. interrupt
// makes a Read of r that waits return; it is called when ctx is done. Serve
// returns nil at the end of r, when everything that was asked is answered or the
// drain time is over.
func Serve(ctx context.Context, e *edge.Edge, r io.Reader, w io.Writer, interrupt func(), o mcp.ServeOptions) error {
	if o.MaxMessage <= 0 {
		o.MaxMessage = mcp.DefaultMaxMessage
	}
	if o.DrainTimeout <= 0 {
		o.DrainTimeout = mcp.DefaultDrainTimeout
	}
	s := &serving{in: NewReader(r, o.MaxMessage), out: NewWriter(w), end: make(chan struct{})}
	s.connection = e.NewConnection(context.WithoutCancel(ctx), s.out, nil)
	stop := context.AfterFunc(ctx, func() {
		s.interrupted.Store(true)
		interrupt()
	})
	defer stop()
	s.idle.Store(1)
	s.workers.Add(1)
	go s.work()
	<-s.end

	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), o.DrainTimeout)
	defer cancel()
	s.connection.Drain(drain)
	s.connection.Close()
	s.await(o.DrainTimeout)
	if err := s.out.Flush(); err != nil && s.err == nil {
		s.err = err
	}
	return s.err
}

// A serving is one client being served.
type serving struct {
	in         *Reader
	out        *Writer
	connection *edge.Connection

	interrupted atomic.Bool // the error with which reading ends is ours

	reading sync.Mutex   // held by who reads
	idle    atomic.Int32 // goroutines that read or wait to
	more    atomic.Bool  // another message lies ready: its reader will flush
	workers sync.WaitGroup

	end  chan struct{} // closed when there is nothing more to read
	over bool          // the same, under reading
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
	s.reading.Lock()
	defer s.reading.Unlock()
	for !s.over {
		if !s.in.Ready() {
			s.more.Store(false)
			s.out.Flush()
		}
		line, err := s.in.Next()
		switch {
		case errors.Is(err, ErrTooLong):
			s.out.Gather(jsonrpc.AppendError(nil, "", jsonrpc.Errorf(jsonrpc.InvalidRequest, "%v", err)))
			continue
		case err != nil:
			s.finish(err)
			continue
		case !s.connection.Accept(job, line):
			continue
		}
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
	if err != io.EOF && !s.interrupted.Load() {
		s.err = err
	}
	close(s.end)
}

// await waits for the goroutines, at most as long as given: a Handler that does
// not heed its context must not keep a process alive.
func (s *serving) await(most time.Duration) {
	done := make(chan struct{})
	go func() {
		s.workers.Wait()
		close(done)
	}()
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
	}
}
