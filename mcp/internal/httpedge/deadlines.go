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
	set     func(*http.ResponseController, time.Time) error
	expired bool

	previous, next *waiting // in the list of all
}

// Read calls f, which reads from the client of w, and ends that after the timeout.
// The connection cannot be read from any more then, and the error is
// [os.ErrDeadlineExceeded].
func (d *Deadlines) Read(w http.ResponseWriter, timeout time.Duration, f func() error) error {
	return d.run(w, time.Now().Add(timeout), (*http.ResponseController).SetReadDeadline, f)
}

// Write calls f, which writes to the client of w, as Read does.
func (d *Deadlines) Write(w http.ResponseWriter, timeout time.Duration, f func() error) error {
	return d.run(w, time.Now().Add(timeout), (*http.ResponseController).SetWriteDeadline, f)
}

func (d *Deadlines) run(w http.ResponseWriter, until time.Time, set func(*http.ResponseController, time.Time) error, f func() error) (err error) {
	x, _ := d.free.Get().(*waiting)
	if x == nil {
		x = new(waiting)
	}
	*x = waiting{w: w, until: until, set: set}
	d.add(x)
	defer func() {
		if d.remove(x) {
			err = os.ErrDeadlineExceeded
			return // expire still uses it
		}
		*x = waiting{}
		d.free.Put(x)
	}()
	return f()
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

// remove reports whether the deadline has passed.
func (d *Deadlines) remove(x *waiting) (expired bool) {
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
		case x.expired:
		case x.until.After(now):
			d.arm(x.until)
		default:
			x.expired = true
			late = append(late, x)
		}
	}
	d.mu.Unlock()
	for _, x := range late {
		x.set(http.NewResponseController(x.w), now)
	}
}
