package sandbox

import (
	"fmt"
	"os/exec"
	"testing"
	"testing/synctest"
	"time"
)

func TestSlowObserversOfRefusalsBlockNothing(t *testing.T) {
	home := homeWithSecret(t)
	blocked := make(chan struct{})
	defer close(blocked)
	s, err := New(Profile{Hosts: []string{"a.example.com"}}, Options{Refused: func(Refusal) { <-blocked }})
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/bin/sh", "-c", "cat "+home+"/s; getent hosts b.example.com; getent hosts c.example.com; true")
	done := make(chan error, 1)
	go func() {
		ended, err := s.Start(cmd)
		if err == nil {
			err = cmd.Wait()
			ended()
		}
		done <- err
	}()
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(15 * time.Second):
		t.Fatal("the end of the program is waited for")
	}
}

func TestExcessRefusalsAreDroppedAndReportedLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		next, reported := make(chan struct{}), make(chan string, maxRefusals)
		s := &Sandbox{o: Options{Refused: func(r Refusal) {
			<-next
			reported <- r.What
		}}}
		refuse, end := s.refusals()
		for range 2 {
			for i := range 2 * maxWaitingRefusals {
				refuse(Refusal{What: fmt.Sprint(i)})
			}
		}
		close(next)
		synctest.Wait()
		if len(reported) < maxWaitingRefusals {
			t.Errorf("%d are named of those that waited", len(reported))
		}
		refuse(Refusal{What: fmt.Sprint(2*maxWaitingRefusals - 1)})
		refuse(Refusal{What: "0"})
		end()
		end()
		close(reported)
		seen := map[string]bool{}
		for what := range reported {
			if seen[what] {
				t.Errorf("%s is named twice", what)
			}
			seen[what] = true
		}
		if len(seen) > maxWaitingRefusals+2 || !seen["0"] || !seen[fmt.Sprint(2*maxWaitingRefusals-1)] {
			t.Errorf("%d are named", len(seen))
		}
	})
}
