package process

import (
	"fmt"
	"time"
)

// wait reaps the child and ends the rest of its group.
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

// Close ends the child and everything in its group. It closes standard input, terminates the group
// after a grace period, and kills it after another. It then closes the pipes, which ends a blocked
// Read or Write.
//
// A child with more output than a pipe holds cannot finish unless it is read from in the meantime,
// and is terminated.
//
// Close returns when the child was reaped and nothing of it is left in this process, at once if
// that is so already. The error is about a child that could not be ended, not about its exit
// status. Further calls wait for the first and return the same.
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

// Terminate is [Process.Close] for a child with no work to finish. It skips the grace period
// between the end of standard input and the request to end.
func (p *Process) Terminate() error {
	p.hasty.Store(true)
	return p.Close()
}

// Hurry shortens the grace period of the following steps to 100 ms. It is for a child that did not
// respond in time, since its caller does not wait for its end either.
func (p *Process) Hurry() { p.hurried.Store(true) }

// step returns the time limit of a step of stopping.
func (p *Process) step() time.Duration {
	if p.hurried.Load() {
		return min(p.grace, hurriedTime)
	}
	return p.grace
}

// stop ends the group step by step, until the child is reaped and its group is empty. It runs once;
// other calls wait for it.
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

// gone waits until the child is reaped and its group is empty, and reports whether they are. The
// system does not report when a group becomes empty, so gone polls with growing pauses. It stops
// waiting once kill is closed.
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
