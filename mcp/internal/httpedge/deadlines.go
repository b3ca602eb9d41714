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
	open  map[*waiting]struct{}
	timer *time.Timer
	fires time.Time // zero while the timer is not set
}

// waiting is a read or write that has not ended.
type waiting struct {
	w       http.ResponseWriter
	until   time.Time
	set     func(*http.ResponseController, time.Time) error
	expired bool
}

// Read calls f, which reads from the client of w, and ends that after the timeout.
// The connection cannot be read from any more then, and the error is
// [os.ErrDeadlineExceeded].
func (d *Deadlines) Read(w http.ResponseWriter, timeout time.Duration, f func() error) error {
	return d.run(&waiting{w: w, until: time.Now().Add(timeout), set: (*http.ResponseController).SetReadDeadline}, f)
}

// Write calls f, which writes to the client of w, as Read does.
func (d *Deadlines) Write(w http.ResponseWriter, timeout time.Duration, f func() error) error {
	return d.run(&waiting{w: w, until: time.Now().Add(timeout), set: (*http.ResponseController).SetWriteDeadline}, f)
}

func (d *Deadlines) run(x *waiting, f func() error) error {
	d.mu.Lock()
	if d.open == nil {
		d.open = make(map[*waiting]struct{})
	}
	d.open[x] = struct{}{}
	d.arm(x.until)
	d.mu.Unlock()

	err := f()

	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.open, x)
	if x.expired {
		return os.ErrDeadlineExceeded
	}
	return err
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
	for x := range d.open {
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
