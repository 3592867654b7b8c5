import { read, readList, remove, type Send } from './operations.ts'
import type { PersonOperations, SessionOperations } from './sign-in-api.ts'
import { pathSegment } from './validation.ts'

export function sessionOperations(send: Send): SessionOperations {
  const path = '/sessions'
  return {
    options: async (options = {}) =>
      send({ ...read('/sign-in-options'), access: 'public' }, options),
    self: async (options = {}) => send(read('/self'), options),
    create: async (options = {}) =>
      send({ method: 'POST', path, retry: 'if-not-processed' }, options),
    list: async ({ person, ...options } = {}) => send(readList(path, { person }), options),
    end: async (id, options = {}) =>
      send(remove(`${path}/${pathSegment(id, 'session id')}`), options),
    endAll: async (person, options = {}) => send({ ...remove(path), query: { person } }, options),
    signOut: async (options = {}) => send(remove(`${path}/self`), options),
  }
}

export function peopleOperations(send: Send): PersonOperations {
  return {
    list: async (options = {}) => send(readList('/people'), options),
    delete: async (id, options = {}) =>
      send(remove(`/people/${pathSegment(id, 'person id')}`), options),
  }
}
