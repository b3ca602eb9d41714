// Package share divides what a process has among its callers: how many of something may be held, and whose turn it is. A caller is a
// key ([Key]): the principal of its requests, or else its address. One caller alone can take much; it never keeps others from
// theirs.
package share
