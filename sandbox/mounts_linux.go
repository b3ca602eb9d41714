package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// newRoot is where the view is put together: a folder that there is everywhere. Nothing of it is needed by then.
const newRoot = "/proc"

// enter replaces the file system of this process by the view. It needs a mount namespace of its own.
func enter(places []place) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make mounts private: %w", err)
	}
	// All trees are copied first, as the new root covers a part of the old one.
	trees := make([]int, len(places))
	for i, p := range places {
		if p.Path == "/" { // it would take the place of the new root, in which is made what the program has of its own
			return errors.New("/: all files of the machine cannot be shown; name folders in it")
		}
		tree, err := p.tree()
		if err != nil {
			return fmt.Errorf("%s: %w", p.Path, err)
		}
		trees[i] = tree
	}
	root, err := newMount("tmpfs", unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV, "mode", "755", "size", "1m", "nr_inodes", "4096")
	if err != nil {
		return err
	}
	if err := attach(root, newRoot); err != nil {
		return err
	}
	for i, p := range places {
		if err := p.put(trees[i]); err != nil {
			return fmt.Errorf("%s: %w", p.Path, err)
		}
	}
	if err := unix.MountSetattr(root, "", unix.AT_EMPTY_PATH, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}); err != nil {
		return fmt.Errorf("make the root read-only: %w", err)
	}
	unix.Close(root)
	if err := unix.Chdir(newRoot); err != nil {
		return err
	}
	if err := unix.PivotRoot(".", "."); err != nil {
		return fmt.Errorf("pivot_root: %w", err)
	}
	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
		return fmt.Errorf("leave the old root: %w", err)
	}
	return unix.Chdir("/")
}

// tree is a mount that stands nowhere yet, or -1 for what needs none.
func (p place) tree() (int, error) {
	switch p.Kind {
	case temporary:
		return newMount("tmpfs", unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV, "mode", "700", "size", fmt.Sprint(p.Size), "nr_inodes", "65536")
	case hidden:
		if info, err := os.Stat(p.Path); err == nil && info.IsDir() {
			return newMount("tmpfs", unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV|unix.MOUNT_ATTR_RDONLY, "mode", "700", "size", "4k")
		}
		return unix.OpenTree(unix.AT_FDCWD, "/dev/null", unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC)
	case ownProc:
		// Read-only: a program of root could change the system's settings in /proc/sys without any capability.
		return newMount("proc", unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV|unix.MOUNT_ATTR_NOEXEC|unix.MOUNT_ATTR_RDONLY)
	case shown, writable, device:
		tree, err := unix.OpenTree(unix.AT_FDCWD, p.Path, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_RECURSIVE|unix.AT_SYMLINK_NOFOLLOW)
		if err != nil {
			if p.Optional {
				return -1, nil
			}
			return -1, err
		}
		attr := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_NOSUID}
		if p.Kind != device {
			attr.Attr_set |= unix.MOUNT_ATTR_NODEV
		}
		if p.Kind == shown {
			attr.Attr_set |= unix.MOUNT_ATTR_RDONLY
		}
		if err := unix.MountSetattr(tree, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, &attr); err != nil {
			return -1, fmt.Errorf("mount_setattr: %w", err)
		}
		return tree, nil
	}
	return -1, nil
}

// put makes the place in the new root.
func (p place) put(tree int) error {
	path := filepath.Join(newRoot, p.Path)
	switch {
	case p.Kind == hidden && tree >= 0 && !exists(path):
		return unix.Close(tree) // it has gone meanwhile, maybe with its folder, and nothing is to be made where others write
	case p.Kind == link || p.Kind == file || tree >= 0:
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
	default:
		return nil // left out
	}
	switch {
	case p.Kind == link:
		return os.Symlink(p.Text, path)
	case p.Kind == file:
		return p.make(path)
	}
	var stat unix.Stat_t
	if err := unix.Fstat(tree, &stat); err != nil {
		return err
	}
	if stat.Mode&unix.S_IFMT == unix.S_IFDIR {
		if err := os.MkdirAll(path, 0o755); err != nil {
			return err
		}
	} else if f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL, 0o444); err == nil {
		f.Close()
	} else if !os.IsExist(err) {
		return err
	}
	return attach(tree, path)
}

// make makes a file: where a folder of the machine is shown, over the one that is there, as the folder is not the program's.
func (p place) make(path string) error {
	var above, root unix.Stat_t
	if err := errors.Join(unix.Stat(filepath.Dir(path), &above), unix.Stat(newRoot, &root)); err != nil {
		return err
	}
	if above.Dev == root.Dev {
		return os.WriteFile(path, []byte(p.Text), 0o444)
	}
	if _, err := os.Lstat(path); err != nil {
		return nil // nothing is to be made there
	}
	made := filepath.Join(newRoot, "made")
	if err := os.WriteFile(made, []byte(p.Text), 0o444); err != nil {
		return err
	}
	defer os.Remove(made) // the mount keeps it
	tree, err := unix.OpenTree(unix.AT_FDCWD, made, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC)
	if err != nil {
		return err
	}
	if err := unix.MountSetattr(tree, "", unix.AT_EMPTY_PATH, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}); err != nil {
		return err
	}
	return attach(tree, path)
}

func attach(tree int, path string) error {
	if err := unix.MoveMount(tree, "", unix.AT_FDCWD, path, unix.MOVE_MOUNT_F_EMPTY_PATH); err != nil {
		return fmt.Errorf("mount %s: %w", path, err)
	}
	return nil
}

// newMount makes a file system, with pairs of options.
func newMount(kind string, attr int, options ...string) (int, error) {
	fs, err := unix.Fsopen(kind, unix.FSOPEN_CLOEXEC)
	if err != nil {
		return -1, fmt.Errorf("%s: %w", kind, err)
	}
	defer unix.Close(fs)
	for i := 0; i < len(options); i += 2 {
		if err := unix.FsconfigSetString(fs, options[i], options[i+1]); err != nil {
			return -1, fmt.Errorf("%s %s: %w", kind, options[i], err)
		}
	}
	if err := unix.FsconfigCreate(fs); err != nil {
		return -1, fmt.Errorf("%s: %w", kind, err)
	}
	tree, err := unix.Fsmount(fs, unix.FSMOUNT_CLOEXEC, attr)
	if err != nil {
		return -1, fmt.Errorf("%s: %w", kind, err)
	}
	return tree, nil
}
