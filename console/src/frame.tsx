import {
  ActionIcon,
  Alert,
  AppShell,
  Badge,
  Burger,
  Container,
  Group,
  Menu,
  NavLink,
  Text,
  UnstyledButton,
  useComputedColorScheme,
  useMantineColorScheme,
  VisuallyHidden,
} from '@mantine/core'
import { useDisclosure, useNetwork } from '@mantine/hooks'
import {
  IconHistory,
  IconKey,
  IconLogout,
  IconMoon,
  IconStack2,
  IconSun,
} from '@tabler/icons-react'
import type { ReactNode } from 'react'
import { Link, useLocation } from 'wouter'
import { Logo } from './components/logo.tsx'
import { useRights, useSession } from './session/context.tsx'

/** What stands around every page: where one is, who one is, light or dark. */
export function Frame({ children }: { children: ReactNode }) {
  const [opened, { toggle, close }] = useDisclosure(false)
  const { online } = useNetwork()
  return (
    <AppShell
      header={{ height: 60 }}
      navbar={{ width: 220, breakpoint: 'sm', collapsed: { mobile: !opened } }}
      padding="md"
    >
      <AppShell.Header>
        <Group h="100%" px="md" justify="space-between" wrap="nowrap">
          <Group gap="sm" wrap="nowrap">
            <Burger opened={opened} onClick={toggle} hiddenFrom="sm" size="sm" aria-label="Menu" />
            <Link href="/" className="quiet-link">
              <Group gap="xs" wrap="nowrap">
                <Logo />
                <Text fw={700} size="lg">
                  Pubring
                </Text>
              </Group>
            </Link>
          </Group>
          <Group gap="xs" wrap="nowrap">
            <SchemeButton />
            <AccountMenu />
          </Group>
        </Group>
      </AppShell.Header>
      <AppShell.Navbar p="sm" aria-label="Main">
        <Navigation onNavigate={close} />
      </AppShell.Navbar>
      <AppShell.Main>
        <Container size="lg" px={0} py="sm">
          {!online && (
            <Alert color="yellow" mb="md" title="You are offline" role="status">
              What you see may be old. Nothing that you type is lost; save when you are back.
            </Alert>
          )}
          {children}
        </Container>
      </AppShell.Main>
    </AppShell>
  )
}

function Navigation({ onNavigate }: { onNavigate: () => void }) {
  const [location] = useLocation()
  const { mayManage, unbound } = useRights()
  const pages = [
    { href: '/', label: unbound ? 'Projects' : 'Project', icon: IconStack2, shown: true },
    { href: '/api-keys', label: 'API keys', icon: IconKey, shown: mayManage },
    { href: '/ledger', label: 'Ledger', icon: IconHistory, shown: mayManage },
  ]
  const isHere = (href: string) =>
    href === '/' ? location === '/' || location.startsWith('/projects') : location === href
  return pages
    .filter(({ shown }) => shown)
    .map(({ href, label, icon: Icon }) => (
      <NavLink
        key={href}
        component={Link}
        href={href}
        label={label}
        leftSection={<Icon size={18} />}
        active={isHere(href)}
        aria-current={isHere(href) ? 'page' : undefined}
        onClick={onNavigate}
      />
    ))
}

function SchemeButton() {
  const { setColorScheme } = useMantineColorScheme()
  const scheme = useComputedColorScheme('light')
  const other = scheme === 'dark' ? 'light' : 'dark'
  return (
    <ActionIcon
      variant="default"
      size="lg"
      onClick={() => setColorScheme(other)}
      aria-label={`Switch to ${other} colours`}
    >
      {scheme === 'dark' ? <IconSun size={18} /> : <IconMoon size={18} />}
    </ActionIcon>
  )
}

function AccountMenu() {
  const { self, signOut } = useSession()
  return (
    <Menu position="bottom-end" withinPortal>
      <Menu.Target>
        <UnstyledButton>
          <Group gap={6} wrap="nowrap">
            <VisuallyHidden>Signed in with API key</VisuallyHidden>
            <Text size="sm" maw={140} truncate>
              {self.name}
            </Text>
            <Badge variant="light" size="sm" tt="none">
              {self.role}
            </Badge>
          </Group>
        </UnstyledButton>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>
          <span className="mono">{self.prefix}…</span>
        </Menu.Label>
        <Menu.Item leftSection={<IconLogout size={16} />} onClick={signOut}>
          Sign out
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  )
}
