package sandbox

import (
	"fmt"
	"os"

	"github.com/landlock-lsm/go-landlock/landlock"
	llsys "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
)

// landlockConfig is the newest revision of Landlock that is known here, or what the kernel has of it.
var landlockConfig = landlock.V9.BestEffort()

// restrict gives up, on this thread and for what it starts, all files that the places do not have, and signals and
// abstract sockets of all others.
func (o *order) restrict() error {
	var rules []landlock.Rule
	config := landlockConfig
	switch {
	case !o.Bare:
		config.HandledAccessNet = 0                                            // the network namespace has nothing else
		rules = append(rules, landlock.PathAccess(llsys.AccessFSReadDir, "/")) // names only, and of the view only
	default:
		for _, port := range o.Ports {
			rules = append(rules, landlock.ConnectTCP(port))
		}
	}
	for _, p := range o.Places {
		if p.Kind == link || p.Kind == hidden || o.Bare && p.Kind == temporary {
			continue
		}
		info, err := os.Stat(p.Path)
		if err != nil {
			continue // an optional one
		}
		write := p.Kind == writable || p.Kind == temporary || p.Kind == device
		var rule landlock.FSRule
		switch {
		case info.IsDir() && write:
			rule = landlock.RWDirs(p.Path).WithRefer()
		case info.IsDir():
			rule = landlock.RODirs(p.Path)
		case write:
			rule = landlock.RWFiles(p.Path)
		default:
			rule = landlock.ROFiles(p.Path)
		}
		if p.Kind == device {
			rule = rule.WithIoctlDev()
		}
		rules = append(rules, rule)
	}
	fd, flags, err := config.NewRulesetFD(rules...)
	if err != nil {
		return fmt.Errorf("landlock: %w", err)
	}
	if fd < 0 {
		return nil // the kernel has none, which State says
	}
	defer unix.Close(fd)
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, uintptr(fd), uintptr(flags), 0); errno != 0 {
		return fmt.Errorf("landlock_restrict_self: %w", errno)
	}
	return nil
}

// dropCapabilities gives up, on this thread and for what it starts, all that root may do beyond others, for good.
func dropCapabilities() error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("no_new_privs: %w", err)
	}
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return fmt.Errorf("ambient capabilities: %w", err)
	}
	for capability := uintptr(0); ; capability++ {
		if has, err := unix.PrctlRetInt(unix.PR_CAPBSET_READ, capability, 0, 0, 0); err != nil || has < 0 {
			break // there are no more
		} else if has == 0 {
			continue
		}
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, capability, 0, 0, 0); err != nil {
			if err == unix.EPERM { // without namespaces nobody has any to begin with
				break
			}
			return fmt.Errorf("capability %d: %w", capability, err)
		}
	}
	const noRoot = 1<<0 | 1<<1 | 1<<2 | 1<<3 | 1<<6 | 1<<7 // SECBIT_NOROOT, NO_SETUID_FIXUP, NO_CAP_AMBIENT_RAISE, each locked
	if err := unix.Prctl(unix.PR_SET_SECUREBITS, noRoot, 0, 0, 0); err != nil && err != unix.EPERM {
		return fmt.Errorf("securebits: %w", err)
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	if err := unix.Capset(&header, &none[0]); err != nil {
		return fmt.Errorf("capset: %w", err)
	}
	return nil
}
