package process

import "sync"

var (
	all      sync.Map     // of *Process: those whose groups may have a member
	starting sync.RWMutex // held for reading while one is started
)

// begin starts the child, so that KillAll finds it from its first moment.
func (p *Process) begin() error {
	starting.RLock()
	defer starting.RUnlock()
	if err := p.cmd.Start(); err != nil {
		return err
	}
	p.group = groupOf(p.cmd.Process)
	all.Store(p, nil)
	return nil
}

// KillAll kills every child that was started, and everything in its group, for a
// program that ends without closing them.
func KillAll() {
	starting.Lock()
	defer starting.Unlock()
	all.Range(func(p, _ any) bool {
		p.(*Process).group.kill()
		return true
	})
}
