package guard

// Limits for seen definitions. Servers can cause them at any rate without a question to the user,
// so they may use only a share of the space.
const (
	maxSeen      = maxPins - maxPins/4 // seen definitions of all servers
	maxSeenOf    = maxPins / 4         // seen definitions of one server
	maxSeenBytes = 8 << 20             // stored bytes of all seen definitions of one server
)

// A seenSize summarizes the seen definitions of one server.
type seenSize struct{ count, bytes int }

// see adds a seen definition and replaces an earlier one. It returns false if there is no space.
func (p pinned) see(key pinKey, now pin) bool {
	for _, old := range p.approved[key] {
		if old.Hash == now.Hash {
			return true
		}
	}
	was, replaces := p.seen[key]
	of := p.of[key.Server]
	if of.bytes += now.Definition.size(); replaces {
		of.bytes -= was.Definition.size()
	} else {
		of.count++
	}
	fits := of.count <= maxSeenOf && of.bytes <= maxSeenBytes
	for fits && !replaces && (len(p.seen) >= maxSeen || p.size() >= maxPins) {
		fits = p.spare(of.count)
	}
	if !fits {
		p.unsee(key)
		return false
	}
	p.seen[key], p.of[key.Server] = now, of
	return true
}

// unsee removes a seen definition if there is one for the key.
func (p pinned) unsee(key pinKey) {
	was, is := p.seen[key]
	if !is {
		return
	}
	delete(p.seen, key)
	of := p.of[key.Server]
	of.count--
	if of.bytes -= was.Definition.size(); of.count > 0 {
		p.of[key.Server] = of
	} else {
		delete(p.of, key.Server)
	}
}

// spare removes one seen definition of the server that has the most. It returns false if that
// server has only some definitions, or fewer.
func (p pinned) spare(some int) bool {
	most := ""
	for server, of := range p.of {
		if of.count > p.of[most].count {
			most = server
		}
	}
	if p.of[most].count <= some {
		return false
	}
	for key := range p.seen {
		if key.Server == most {
			p.unsee(key)
			return true
		}
	}
	return false
}

// spareServer removes all seen definitions of the server whose definitions take the most bytes. It
// returns false if there are none.
func (p pinned) spareServer() bool {
	most := ""
	for server, of := range p.of {
		if of.bytes > p.of[most].bytes {
			most = server
		}
	}
	before := len(p.seen)
	for key := range p.seen {
		if key.Server == most {
			p.unsee(key)
		}
	}
	return len(p.seen) < before
}

// size returns the stored bytes of a definition.
func (d *Definition) size() int {
	return len(d.Server) + len(d.Name) + len(d.Title) + len(d.Description) + len(d.Text) + len(d.Schema) + len(d.OutputSchema) + len(d.Annotations) + len(d.Icons)
}
