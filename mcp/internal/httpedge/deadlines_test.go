package httpedge

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// A slowConn is a connection whose reads and writes block until they are released or the deadline
// is set.
type slowConn struct {
	*httptest.ResponseRecorder
	takes time.Duration
	ended chan struct{}
}

func (c *slowConn) SetReadDeadline(time.Time) error  { close(c.ended); return nil }
func (c *slowConn) SetWriteDeadline(time.Time) error { close(c.ended); return nil }

func (c *slowConn) Write(b []byte) (int, error) { return len(b), c.read() }

func (c *slowConn) read() error {
	select {
	case <-time.After(c.takes):
		return nil
	case <-c.ended:
		return errors.New("the deadline has passed")
	}
}

func TestEachOperationEndsAtItsOwnDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d Deadlines
		var running sync.WaitGroup
		for _, test := range []struct{ timeout, takes, want time.Duration }{
			{30 * time.Second, time.Hour, 30 * time.Second},
			{10 * time.Second, time.Hour, 10 * time.Second},
			{10 * time.Second, time.Second, time.Second},
			{20 * time.Second, 19 * time.Second, 19 * time.Second},
			{20 * time.Second, time.Hour, 20 * time.Second},
		} {
			for name, run := range map[string]func(*slowConn){
				"read": func(c *slowConn) {
					err := d.Read(c, test.timeout, c.read)
					if late := test.takes > test.timeout; errors.Is(err, os.ErrDeadlineExceeded) != late {
						t.Errorf("read of %v within %v: %v", test.takes, test.timeout, err)
					}
				},
				"write": func(c *slowConn) { d.Respond(c, http.StatusOK, []byte("{}"), test.timeout) },
			} {
				running.Go(func() {
					c, began := &slowConn{httptest.NewRecorder(), test.takes, make(chan struct{})}, time.Now()
					run(c)
					if took := time.Since(began); took != test.want {
						t.Errorf("%s of %v within %v: it took %v", name, test.takes, test.timeout, took)
					}
				})
			}
		}
		running.Wait()
		if d.first != nil {
			t.Error("an operation is still in the list")
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if !d.fires.IsZero() {
			t.Error("the timer is set, and nothing is running")
		}
	})
}

func TestAFunctionThatPanicsLeavesNoDeadline(t *testing.T) {
	var d Deadlines
	func() {
		defer func() { recover() }()
		d.Read(httptest.NewRecorder(), time.Hour, func() error { panic("on purpose") })
	}()
	if d.first != nil {
		t.Error("the operation is still in the list")
	}
}

// A gate is a response whose deadline takes time to set.
type gate struct {
	*httptest.ResponseRecorder
	reached, open chan struct{}
}

func (g *gate) SetReadDeadline(time.Time) error {
	close(g.reached)
	<-g.open
	return nil
}

// Over HTTP/2, setting the deadline of a response after its handler has returned panics.
func TestAnOperationIsNotOverWhileItsDeadlineIsBeingSet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d Deadlines
		g := &gate{httptest.NewRecorder(), make(chan struct{}), make(chan struct{})}
		var returned atomic.Bool
		go func() {
			d.Read(g, time.Second, func() error { <-g.reached; return nil })
			returned.Store(true)
		}()
		<-g.reached
		synctest.Wait()
		if returned.Load() {
			t.Error("the operation ended before its deadline was set")
		}
		close(g.open)
		synctest.Wait()
		if !returned.Load() {
			t.Error("the operation never ends")
		}
	})
}
