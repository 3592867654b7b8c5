import type { Project } from '@pubring/client'
import { useState } from 'react'
import { Dialog } from '../../components/dialog.tsx'
import { SecretDialog } from '../../components/secret-dialog.tsx'
import { ActionForm, useDraft } from '../../forms/action-form.tsx'
import { ChoiceField } from '../../forms/choice-field.tsx'
import { LabelField } from '../../forms/label-field.tsx'
import { fieldOf, TextField } from '../../forms/text-fields.tsx'
import { ExpiryField, fromExpiryInput } from '../../forms/time-field.tsx'
import { useChange } from '../../session/session.tsx'

type NewKeys = 'inactive' | 'active'
const emptyInput = { note: '', expiry: '', newKeys: 'inactive' as NewKeys, returnUrl: '' }

const meanings: Record<NewKeys, string> = {
  inactive: 'Keys wait until you activate them. Verifiers do not trust them before.',
  active: 'Verifiers trust the keys at once: the person who opens the link can sign tokens.',
}

export function LinkDialog({ project, onClose }: { project: Project; onClose(): void }) {
  const change = useChange(['links', project.id])
  const draft = `link.${project.id}`
  const [input, setInput] = useDraft(draft, emptyInput)
  const [url, setUrl] = useState<string>()
  const expireTime = fromExpiryInput(input.expiry)
  const returnUrl = input.returnUrl.trim()
  const body = {
    note: input.note.trim(),
    newKeys: input.newKeys,
    ...(expireTime === undefined ? {} : { expireTime }),
    ...(returnUrl === '' ? {} : { returnUrl }),
  }
  if (url !== undefined) {
    return (
      <SecretDialog title="Registration link created" name="Link" secret={url} onClose={onClose}>
        The link is shown only once. Send it to the person who has the key pair: the first browser
        that opens it can register keys of this project, and nothing else.
      </SecretDialog>
    )
  }
  return (
    <Dialog title="Registration link" onClose={onClose}>
      <ActionForm
        action="Create link"
        purpose="Create a registration link"
        missing={[body.note === '' && 'a note']}
        draft={draft}
        request={{ method: 'POST', path: `/projects/${project.id}/registration-links`, body }}
        run={() =>
          change(async (client) =>
            setUrl((await client.registrationLinks.create(project.id, body)).url),
          )
        }
        onCancel={onClose}
      >
        A customer or partner registers their own public key with it, without an account.
        <LabelField
          label="Note"
          description="Who it is for, and what you need. They read it."
          placeholder="ACME Corp, key of the orders service"
          {...fieldOf(input, setInput, 'note')}
          autoFocus
        />
        <ChoiceField
          label="New keys are"
          choices={['inactive', 'active']}
          choice={input.newKeys}
          onChoice={(newKeys) => setInput({ newKeys })}
          description={meanings[input.newKeys]}
        />
        <ExpiryField
          {...fieldOf(input, setInput, 'expiry')}
          presetDays={[1, 7, 30]}
          description="At most 30 days ahead. Leave empty for 7 days."
        />
        <TextField
          label="Way back (optional)"
          description="Where the page leads to at the end: an address of PUBRING_RETURN_ORIGINS."
          placeholder="https://platform.example.com/integrations"
          {...fieldOf(input, setInput, 'returnUrl')}
        />
      </ActionForm>
    </Dialog>
  )
}
