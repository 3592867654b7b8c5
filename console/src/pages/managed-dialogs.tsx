import type { CallOptions, Client, Confirmation } from '@pubring/client'
import type { ReactNode } from 'react'
import type { State } from '../components/state-badge.tsx'
import { quoted } from '../components/user-text.tsx'
import { ActionDialog } from '../forms/action-form.tsx'
import { useChange } from '../session/api.ts'

/** A record that admins of all projects create, switch on and off, and delete. */
export type Managed = { id: string; name: string; active: boolean; expireTime?: string }

/** A kind of records, and what is said of their changes. */
export type ManagedKind<Row extends Managed> = {
  /** Its path in the API, which is also the key of its queries. */
  path: string
  operations(client: Client): {
    list(options: Pick<CallOptions, 'signal'>): Promise<Row[]>
    update(id: string, body: { active: boolean }, options: Confirmation): Promise<unknown>
    delete(id: string, options: Confirmation): Promise<unknown>
  }
  words: { activate: string; deactivate: string; inactive: State & ('inactive' | 'revoked') }
  /** The `Facts` that tell a record from others. */
  facts(row: Row): ReactNode
  /** Whom a change concerns. A deletion concerns those whom a deactivation does. */
  impact?(row: Row, change: { active: boolean }): ReactNode
  /** The consequence of a change, as the last words before it is confirmed. */
  consequences: Record<Confirmed, string>
}

/** The words of most kinds. */
export const usualWords = {
  activate: 'Activate',
  deactivate: 'Deactivate',
  inactive: 'inactive',
} as const

/** The changes that need nothing but a confirmation. */
export const confirmed = ['activate', 'deactivate', 'delete'] as const
export type Confirmed = (typeof confirmed)[number]

export function ConfirmChange<Row extends Managed>(props: {
  kind: ManagedKind<Row>
  action: Confirmed
  row: Row
  onClose(): void
}) {
  const { kind, action, row, onClose } = props
  const change = useChange([kind.path])
  const path = `/${kind.path}/${row.id}`
  const isDeletion = action === 'delete'
  const body = { active: action === 'activate' }
  const verb = isDeletion ? 'Delete' : kind.words[action]
  return (
    <ActionDialog
      title={`${verb} ${quoted(row.name)}?`}
      action={isDeletion ? 'Delete permanently' : verb}
      danger={action !== 'activate'}
      request={isDeletion ? { method: 'DELETE', path } : { method: 'PATCH', path, body }}
      run={(confirmation) =>
        change((client) => {
          const operations = kind.operations(client)
          return isDeletion
            ? operations.delete(row.id, confirmation)
            : operations.update(row.id, body, confirmation)
        })
      }
      onClose={onClose}
    >
      {kind.facts(row)}
      {kind.impact?.(row, body)}
      {kind.consequences[action]}
    </ActionDialog>
  )
}
