package hostconfig

import "bytes"

// items makes a list of JSON another one that has some items more at its end, or some less, and leaves what stands around those that stay: people say
// there why they are in it. Of any other change it reports false.
func (e *editor) items(in, now *node) bool {
	if in.kind != list || now.kind != list || e.syntax != inJSON {
		return false
	}
	view := &node{start: in.start, end: in.end}
	for _, item := range in.items {
		view.members = append(view.members, member{start: item.start, end: item.end, value: item})
	}
	var removed []*member
	stay := 0
	for i := range view.members {
		if stay < len(now.items) && same(view.members[i].value, now.items[stay]) {
			stay++
		} else {
			removed = append(removed, &view.members[i])
		}
	}
	more := now.items[stay:]
	if stay == 0 || len(removed) > 0 && len(more) > 0 {
		return false
	}
	if len(more) > 0 && !e.append(in, more) {
		return false
	}
	for _, m := range removed {
		e.remove(view, m, removed)
	}
	e.now[in] = now
	return true
}

// append writes items behind the last one of a list, and behind what is said of it.
func (e *editor) append(in *node, more []*node) bool {
	last := in.items[len(in.items)-1]
	end := len(bytes.TrimRight(e.data[:in.end-1], " \t\r\n"))
	separator := " "
	if blank := e.blankBefore(last.start); bytes.IndexByte(blank, '\n') >= 0 {
		separator = string(blank[bytes.LastIndexByte(blank, '\n'):])
		if bytes.Contains(blank, []byte("\r\n")) {
			separator = "\r" + separator
		}
	} else if bytes.Contains(e.data[last.end:end], []byte("//")) { // it would end in the comment
		return false
	}
	text := ""
	for i, item := range more {
		if i > 0 {
			text += ","
		}
		text += separator + encode(item, inJSON)
	}
	if e.comma(last.end) >= 0 {
		text += ","
	} else {
		e.replace(last.end, last.end, ",")
	}
	e.replace(end, end, text)
	return true
}
