package httpedge

import (
	"net/http"
	"os"
	"sync"
	"time"
)

// Deadlines ends reads and writes that take too long. All of them share one timer, as setting and
// clearing a deadline of the connection takes a tenth of the time of a small request. The zero
// value is ready to use. It is safe for concurrent use.
type Deadlines struct {
	mu    sync.Mutex
	first *waiting
	timer *time.Timer
	fires time.Time // zero while the timer is not set

	free sync.Pool // of *waiting
}

// A waiting is a read or write in progress.
type waiting struct {
	w       http.ResponseWriter
	until   time.Time
	set     setter
	expired chan struct{} // nil before the timeout; closed when the deadline is set

	previous, next *waiting // in the list of all operations
}

// A setter sets one of the deadlines of a connection.
type setter func(*http.ResponseController, time.Time) error

// Read calls f, which reads from the client of w, and ends f after the timeout. The error is then
// [os.ErrDeadlineExceeded], and the connection can no longer be read.
func (d *Deadlines) Read(w http.ResponseWriter, timeout time.Duration, f func() error) (err error) {
	x := d.begin(w, timeout, (*http.ResponseController).SetReadDeadline)
	defer func() {
		if d.end(x) {
			err = os.ErrDeadlineExceeded
		}
	}()
	return f()
}

// begin starts an operation on the connection of w, whose deadline is set after the timeout. The
// caller must call end.
func (d *Deadlines) begin(w http.ResponseWriter, timeout time.Duration, set setter) *waiting {
	x, _ := d.free.Get().(*waiting)
	if x == nil {
		x = new(waiting)
	}
	*x = waiting{w: w, until: time.Now().Add(timeout), set: set}
	d.add(x)
	return x
}

// end ends an operation, and reports whether its deadline was set. It waits if the deadline is just
// being set, as net/http frees a response when its handler returns.
func (d *Deadlines) end(x *waiting) (expired bool) {
	if set := d.remove(x); set != nil {
		<-set
		return true
	}
	*x = waiting{}
	d.free.Put(x)
	return false
}

func (d *Deadlines) add(x *waiting) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if x.next = d.first; x.next != nil {
		x.next.previous = x
	}
	d.first = x
	d.arm(x.until)
}

// remove removes x from the list. Before the timeout it returns nil. After it, it returns a channel
// that is closed when the deadline is set.
func (d *Deadlines) remove(x *waiting) (expired <-chan struct{}) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case x.previous != nil:
		x.previous.next = x.next
	case d.first == x:
		d.first = x.next
	}
	if x.next != nil {
		x.next.previous = x.previous
	}
	x.previous, x.next = nil, nil
	return x.expired
}

// arm sets the timer, unless it already fires before until. The caller holds d.mu.
func (d *Deadlines) arm(until time.Time) {
	switch {
	case !d.fires.IsZero() && !until.Before(d.fires):
		return
	case d.timer == nil:
		d.timer = time.AfterFunc(time.Until(until), d.expire)
	default:
		d.timer.Reset(time.Until(until))
	}
	d.fires = until
}

// expire ends the operations whose timeout has passed, and sets the timer for the next one.
func (d *Deadlines) expire() {
	now := time.Now()
	var late []*waiting
	d.mu.Lock()
	d.fires = time.Time{}
	for x := d.first; x != nil; x = x.next {
		switch {
		case x.expired != nil:
		case x.until.After(now):
			d.arm(x.until)
		default:
			x.expired = make(chan struct{})
			late = append(late, x)
		}
	}
	d.mu.Unlock()
	for _, x := range late {
		x.set(http.NewResponseController(x.w), now)
		close(x.expired)
	}
}
