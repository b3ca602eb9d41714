package audit

import (
	"errors"
	"time"
)

const (
	// rateTime is the time whose lines determine the rate of a log.
	rateTime = 7 * 24 * time.Hour
	// minRateTime is the shortest time from which a rate is derived.
	minRateTime = time.Hour
)

// Retention returns how long the log keeps a line at the rate of the last days, and the length of
// the time in which that rate was measured. Both are 0 if the log is younger than an hour.
func (l *Log) Retention() (kept, measured time.Duration) {
	l.turn <- struct{}{}
	defer func() { <-l.turn }()
	d := &l.disk
	if len(d.files) == 0 || d.wrote.IsZero() {
		return 0, 0
	}
	now, bytes := time.Now(), d.size
	files := d.ledger.files // the finished ones
	at := len(files)
	for at > 0 && now.Sub(time.UnixMicro(files[at-1].Time)) < rateTime {
		at--
		bytes += files[at].Bytes
	}
	first := fileName(d.first)
	if at < len(files) {
		first = fileName(files[at].First)
	}
	begin, err := d.beginOf(first)
	if measured = now.Sub(begin); err != nil || measured < minRateTime || bytes == 0 {
		return 0, 0
	}
	kept = time.Duration(float64(measured) * float64(d.options.Keep) / float64(bytes))
	if d.options.KeepFor > 0 {
		kept = min(kept, d.options.KeepFor)
	}
	return kept, measured
}

// beginOf returns the time of the first line of a file.
func (d *disk) beginOf(name string) (begin time.Time, err error) {
	file, err := d.root.Open(name)
	if err != nil {
		return begin, err
	}
	defer file.Close()
	err = eachLine(file, func(text []byte, _ int64) error {
		if l, ok := parseLine(text); ok {
			begin = l.time()
		}
		return errEnough
	})
	if errors.Is(err, errEnough) {
		err = nil
	}
	if err == nil && begin.IsZero() {
		err = errors.New("its first line has no time")
	}
	return begin, err
}
