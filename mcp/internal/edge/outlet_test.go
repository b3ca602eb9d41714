package edge

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// slowSender takes a second for each message.
type slowSender struct{ sent []string }

func (s *slowSender) Send(_ context.Context, message []byte) error {
	time.Sleep(time.Second)
	s.sent = append(s.sent, string(message))
	return nil
}

func TestNothingIsSentForARequestThatIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := new(slowSender)
		o := &outlet{out: s}
		say := func(ctx context.Context, text string) error {
			return o.send(ctx, func() []byte { return []byte(text) })
		}
		began := time.Now()
		go say(t.Context(), "first")
		synctest.Wait()
		short, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if err := say(short, "second"); err != context.DeadlineExceeded {
			t.Errorf("a message whose context ends while it waits: %v", err)
		}
		o.close()
		o.close()
		if took := time.Since(began); took != time.Second || len(s.sent) != 1 {
			t.Errorf("closed after %v, when %q was sent", took, s.sent)
		}
		if err := say(t.Context(), "third"); err != errOver {
			t.Error(err)
		}
		if err := o.notify(t.Context(), func() []byte { return []byte("third") }); err != nil || len(s.sent) != 1 {
			t.Errorf("%v, %q", err, s.sent)
		}
	})
}

func TestAnOutletThatSentNothingCanBeClosed(t *testing.T) {
	o := &outlet{out: new(slowSender)}
	o.close()
	if err := o.send(t.Context(), func() []byte { return []byte("x") }); err != errOver {
		t.Error(err)
	}
}
