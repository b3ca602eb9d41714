package process

import (
	"fmt"
	"time"
)

// wait reaps the child and ends the remaining processes of its group.
func (p *Process) wait() {
	p.exitErr = p.cmd.Wait()
	if state := p.cmd.ProcessState; p.exitErr != nil && state != nil {
		if p.exitErr = signalled(state); p.exitErr == nil {
			p.exitErr = fmt.Errorf("exited with status %d", state.ExitCode())
		}
	}
	select {
	case <-p.logDone:
	case <-time.After(stderrWait):
	}
	close(p.exited)
	p.stop()
	p.ended()
	select {
	case <-p.closing:
	case <-time.After(p.grace):
	}
	p.stdout.end()
	p.stderr.end()
}

// Close ends the child and all processes in its group. It closes standard input, terminates the
// group after a grace period, and kills it after another grace period. It then closes the pipes,
// which ends a blocked Read or Write.
//
// A child that has more output than a pipe can contain exits by itself only if its output is read
// during Close. Otherwise Close terminates it.
//
// Close returns when the child was reaped and all goroutines of p have ended. If they have ended
// already, it returns at once. It returns an error if the child could not be ended; the child's
// exit status is not an error. Further calls wait for the first call and return the same error.
func (p *Process) Close() error {
	p.closeOnce.Do(func() {
		p.closed.Store(true)
		close(p.closing)
		p.stop()
		p.stdout.close()
		p.stderr.close()
		select {
		case <-p.exited:
			p.running.Wait()
		default:
			p.closeErr = fmt.Errorf("end %s (process %d): still there %v after it was killed", p.name, p.PID(), killWait)
		}
	})
	return p.closeErr
}

// Terminate is like [Process.Close], but for a child that has no work to finish. It skips the grace
// period between closing standard input and terminating the group.
func (p *Process) Terminate() error {
	p.hasty.Store(true)
	return p.Close()
}

// Hurry limits the grace periods of all following steps to 100 ms. It is meant for a child that did
// not respond in time, so that its caller does not wait for the end of the child too.
func (p *Process) Hurry() { p.hurried.Store(true) }

// step returns the grace period of a step of ending the child.
func (p *Process) step() time.Duration {
	if p.hurried.Load() {
		return min(p.grace, hurriedTime)
	}
	return p.grace
}

// stop ends the group step by step, until the child was reaped and its group is empty. It runs
// once; other calls wait for the first one.
func (p *Process) stop() {
	p.stopOnce.Do(func() {
		p.stdin.Close()
		first := p.step()
		if p.hasty.Load() {
			first = time.Millisecond
		}
		if p.gone(first, p.kill) {
			return
		}
		p.group.terminate()
		if p.gone(p.step(), p.kill) {
			return
		}
		p.group.kill()
		p.gone(killWait, nil)
	})
}

// gone waits until the child was reaped and its group is empty, and reports whether this happened
// in time. The system does not notify when a group becomes empty, so gone polls with growing
// pauses. It stops waiting when kill is closed.
func (p *Process) gone(within time.Duration, kill <-chan struct{}) bool {
	deadline := time.NewTimer(within)
	defer deadline.Stop()
	select {
	case <-p.exited:
	case <-deadline.C:
		return false
	case <-kill:
		return false
	}
	for pause := time.Millisecond; !p.group.empty(); pause = min(2*pause, 50*time.Millisecond) {
		select {
		case <-time.After(pause):
		case <-deadline.C:
			return false
		case <-kill:
			return false
		}
	}
	return true
}
