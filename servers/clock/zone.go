package clock

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Local returns the time zone that the variable TZ names. Its value is an IANA name, a file, or
// POSIX rules such as CET-1CEST,M3.5.0,M10.5.0/3, for which time.Local would be UTC. An empty value
// means [time.Local].
func Local(tz string) (*time.Location, error) {
	name := strings.TrimPrefix(tz, ":")
	switch {
	case tz == "":
		return time.Local, nil
	case filepath.IsAbs(name):
		data, err := os.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("the variable TZ: %w", err)
		}
		return time.LoadLocationFromTZData(name, data)
	}
	if zone, err := time.LoadLocation(name); err == nil && name != "Local" {
		return zone, nil
	}
	if zone := posix(name); zone != nil {
		return zone, nil
	}
	return nil, fmt.Errorf("the variable TZ: %q is not a time zone; expected an IANA name such as Europe/Berlin, or rules such as CET-1CEST,M3.5.0,M10.5.0/3", tz)
}

// posix returns the zone with POSIX rules, or nil if they are invalid. It builds a zone file (RFC
// 9636) with one change before all relevant times, after which the rules apply.
func posix(rules string) *time.Location {
	const unknown = "-00"
	if strings.ContainsAny(rules, "\n\x00") {
		return nil
	}
	header := func(changes, zones, letters uint32) (b []byte) {
		b = append([]byte("TZif2"), make([]byte, 15)...)
		for _, n := range []uint32{0, 0, 0, changes, zones, letters} {
			b = binary.BigEndian.AppendUint32(b, n)
		}
		return b
	}
	data := append(header(0, 0, 0), header(1, 1, uint32(len(unknown)+1))...)
	data = binary.BigEndian.AppendUint64(data, uint64(time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC).Unix()))
	data = append(data, 0)                   // index of the zone after the change
	data = append(data, 0, 0, 0, 0, 0, 0)    // UTC, no summer time, the first name
	data = append(data, unknown+"\x00\n"...) // name of the time before the change
	data = append(data, rules+"\n"...)
	zone, err := time.LoadLocationFromTZData(rules, data)
	if err != nil {
		return nil
	}
	for _, month := range []time.Month{time.January, time.July} {
		if name, _ := time.Date(2026, month, 1, 12, 0, 0, 0, zone).Zone(); name == unknown {
			return nil
		}
	}
	return zone
}
