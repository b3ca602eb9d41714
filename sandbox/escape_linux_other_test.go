//go:build linux && !amd64

package sandbox

import "errors"

func otherArchitecture(*world) (string, error) { return "", errors.New("there is none that is tried") }
