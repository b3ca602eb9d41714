package tolerance

import (
	"log/slog"
	"sync"
)

// Records stores the first case of each tolerance for each server, taken from the log records of
// its loggers. The zero value is ready to use. Records is safe for concurrent use.
type Records struct {
	mu  sync.Mutex
	all map[string]*[len(rows)]string // by server, a description of the first case of each tolerance, or ""
}

// Logger returns a logger that stores cases and passes every record to next. The cases belong to
// the named server or, if server is empty, to the server in the record.
func (r *Records) Logger(next *slog.Logger, server string) *slog.Logger {
	return Observe(next.Handler(), func(record slog.Record) { r.keep(record, server) })
}

// Of returns the descriptions of the cases of one server, in the order of the table.
func (r *Records) Of(server string) (lines []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := r.all[server]
	if all == nil {
		return nil
	}
	for _, line := range all {
		if line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}

// Case returns the description of the first case of one tolerance, or "".
func (r *Records) Case(server string, t Tolerance) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if all := r.all[server]; all != nil {
		return all[t]
	}
	return ""
}

func (r *Records) add(server, name, where string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.all == nil {
		r.all = map[string]*[len(rows)]string{}
	}
	all := r.all[server]
	if all == nil {
		all = new([len(rows)]string)
		r.all[server] = all
	}
	for t := range rows {
		if rows[t].Name == name && all[t] == "" {
			all[t] = name + ": " + rows[t].Comes
			if where != "" {
				all[t] += ", in " + where
			}
		}
	}
}

// keep stores the case in a record. server is the server of the logger, or "".
func (r *Records) keep(record slog.Record, server string) {
	name, where := "", ""
	record.Attrs(func(a slog.Attr) bool {
		switch {
		case a.Key == LogTolerance:
			name = a.Value.String()
		case a.Key == LogWhere:
			where = a.Value.String()
		case a.Key == "server" && server == "":
			server = a.Value.String()
		}
		return true
	})
	if name != "" {
		r.add(server, name, where)
	}
}
