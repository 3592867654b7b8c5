import { ActionIcon, Code, Group, SegmentedControl, Stack, Tooltip } from '@mantine/core'
import type { JwtKeyWithDetails } from '@pubring/client'
import { IconDownload } from '@tabler/icons-react'
import { useState } from 'react'
import { CopyButton, CopyField } from '../../components/copy.tsx'
import { download } from '../../components/download.ts'
import { Section } from '../../components/section.tsx'
import { formsOf } from '../../keys/forms.ts'

/** The public key in every form, and what it is found by. */
export function Material({ jwtKey }: { jwtKey: JwtKeyWithDetails }) {
  const { id, details } = jwtKey
  const forms = formsOf(jwtKey)
  const [name, setName] = useState('PEM')
  const form = forms.find((each) => each.name === name) ?? forms[0]
  return (
    <Section title="Public key">
      <Stack gap="md" fz="sm">
        {form !== undefined && (
          <div>
            <Group gap="xs" mb="xs" justify="space-between" wrap="nowrap">
              <SegmentedControl
                size="xs"
                aria-label="Form"
                data={forms.map((each) => each.name)}
                value={form.name}
                onChange={setName}
              />
              <Group gap={4} wrap="nowrap">
                <CopyButton value={form.text} name={form.name} />
                <Tooltip label={`Download ${form.fileName}`}>
                  <ActionIcon
                    variant="subtle"
                    color="gray"
                    aria-label={`Download ${form.name}`}
                    onClick={() => download(form.fileName, [form.text])}
                  >
                    <IconDownload size={16} />
                  </ActionIcon>
                </Tooltip>
              </Group>
            </Group>
            <Code block mah={320} tabIndex={0} role="group" aria-label={form.name}>
              {form.text}
            </Code>
          </div>
        )}
        <CopyField label="kid" value={id} />
        {details.publishedKid !== undefined && (
          <CopyField label="Published kid" value={details.publishedKid} />
        )}
        <CopyField label="Thumbprint (RFC 7638)" value={details.thumbprint} />
        <CopyField label="SHA-256 of the SPKI" value={details.spkiSha256} />
      </Stack>
    </Section>
  )
}
