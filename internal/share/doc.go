// Package share divides the resources of a process among its callers. It limits the number of items
// that each caller may have, and decides which caller is next. A caller is identified by a key
// ([Key]): the principal of its requests, or its address if there is none. One caller can use a
// large part of the resources, but every other caller still has its share.
package share
