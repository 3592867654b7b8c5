import { Checkbox } from '@mantine/core'
import { useState } from 'react'
import { PubringError } from '../../../client/src/index.ts'

/** The decision about keys that a key vouched for, asked for once the service wants it. */
export function useDescendants() {
  const [asked, setAsked] = useState(false)
  const [checked, setChecked] = useState(false)
  return {
    decision: asked ? { descendants: checked } : {},
    async watch(run: () => Promise<void>) {
      try {
        await run()
      } catch (error) {
        if (error instanceof PubringError && error.code === 'key_has_descendants') setAsked(true)
        throw error
      }
    },
    field: asked && (
      <Checkbox
        label="Deactivate the active keys that it vouched for, too"
        checked={checked}
        onChange={(event) => setChecked(event.currentTarget.checked)}
      />
    ),
  }
}
