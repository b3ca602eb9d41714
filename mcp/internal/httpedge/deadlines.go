package httpedge

import (
	"net/http"
	"os"
	"sync"
	"time"
)

// Deadlines end reads and writes that take too long. One timer serves all of them:
// to set and clear a deadline of each connection for each small request costs a
// tenth of answering it. The zero value is ready; it is safe for concurrent use.
type Deadlines struct {
	mu    sync.Mutex
	first *waiting
	timer *time.Timer
	fires time.Time // zero while the timer is not set

	free sync.Pool // of *waiting
}

// waiting is a read or write that has not ended.
type waiting struct {
	w       http.ResponseWriter
	until   time.Time
	set     setter
	expired chan struct{} // nil before its time; closed when the deadline was set

	previous, next *waiting // in the list of all
}

// A setter sets one of the deadlines of a connection.
type setter func(*http.ResponseController, time.Time) error

// Read calls f, which reads from the client of w, and ends that after the timeout.
// The connection cannot be read from any more then, and the error is
// [os.ErrDeadlineExceeded].
func (d *Deadlines) Read(w http.ResponseWriter, timeout time.Duration, f func() error) (err error) {
	x := d.begin(w, timeout, (*http.ResponseController).SetReadDeadline)
	defer func() {
		if d.end(x) {
			err = os.ErrDeadlineExceeded
		}
	}()
	return f()
}

// begin starts an operation on the connection of w, whose deadline is set when the
// timeout is over. end must follow.
func (d *Deadlines) begin(w http.ResponseWriter, timeout time.Duration, set setter) *waiting {
	x, _ := d.free.Get().(*waiting)
	if x == nil {
		x = new(waiting)
	}
	*x = waiting{w: w, until: time.Now().Add(timeout), set: set}
	d.add(x)
	return x
}

// end reports whether the deadline of an operation that is over had passed. A deadline
// that is being set is waited for: net/http frees a response when its handler returns.
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

// remove returns what is closed when the deadline was set; nil if it has not passed.
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

// arm sets the timer, unless it fires before. The caller holds d.mu.
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

// expire ends what took too long, and sets the timer for the next one.
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
