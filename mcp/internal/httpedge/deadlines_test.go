package httpedge

import (
	"errors"
	"net/http/httptest"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// A slowConn is a connection on which reading and writing take until they are
// done, or the deadline is set.
type slowConn struct {
	*httptest.ResponseRecorder
	ended chan struct{}
}

func (c *slowConn) SetReadDeadline(time.Time) error  { close(c.ended); return nil }
func (c *slowConn) SetWriteDeadline(time.Time) error { close(c.ended); return nil }

func (c *slowConn) take(d time.Duration) error {
	select {
	case <-time.After(d):
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
			for name, run := range map[string]func(*slowConn, func() error) error{
				"read":  func(c *slowConn, f func() error) error { return d.Read(c, test.timeout, f) },
				"write": func(c *slowConn, f func() error) error { return d.Write(c, test.timeout, f) },
			} {
				running.Go(func() {
					c, began := &slowConn{httptest.NewRecorder(), make(chan struct{})}, time.Now()
					err := run(c, func() error { return c.take(test.takes) })
					if late := test.takes > test.timeout; errors.Is(err, os.ErrDeadlineExceeded) != late {
						t.Errorf("%s of %v within %v: %v", name, test.takes, test.timeout, err)
					}
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
		d.Write(httptest.NewRecorder(), time.Hour, func() error { panic("on purpose") })
	}()
	if d.first != nil {
		t.Error("the operation is still in the list")
	}
}
