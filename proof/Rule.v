(* Row rules in general, apart from any table: what the cells of a grid should mean and show.

   A row is a transducer from right to left. A cell means a digit and a carry, a function of what it holds, of the digit
   below and of the carry from the right. Leading zeros are blank. *)

From Coq Require Import List Arith Bool Lia.
From Gridsum Require Import Grid.
Import ListNotations.

(* What a cell of a term's row holds: a digit, the sign between terms, nothing. *)
Inductive shape := WithDigit | WithPlus | WithNothing.
Definition shape_of (x : symbol) : shape :=
  match x with Some (Digit _) => WithDigit | Some _ => WithPlus | None => WithNothing end.

(* Kinds of cells. The ground is the lowest row, which holds no term. A cell is low over the ground or over a blank. *)
Inductive kind := Ground | Cell (low : bool) (holds : shape).

(* A digit and a carry. *)
Definition meaning := (nat * nat)%type.

(* A cell's left neighbour: its kind, what it means, and whether it is blank. *)
Definition neighbour := (kind * meaning * bool)%type.

Record rule := Rule {
  base : nat;                                           (* terms have digits below it *)
  value : bool -> symbol -> nat -> nat -> meaning;      (* in the first term? own symbol, digit below, carry from right *)
  none : meaning -> bool;                               (* a cell that means this is blank if nothing is left of it *)
  (* What a rule's arithmetic leaves out: [false] for neighbours that never stand beside each other, so that a table need
     not be right there. Both may be [true] always. *)
  beside_right : bool -> kind -> symbol -> kind -> meaning -> bool;   (* first term? own kind, symbol; right neighbour *)
  beside_left : kind -> symbol -> meaning -> option neighbour -> bool; (* own kind, symbol, meaning; left neighbour *)
}.

Section Meaning.

Variables (R : rule) (W : nat) (x : nat -> nat -> symbol).

(* What cell (i, j) should mean. *)
Fixpoint means (i : nat) : nat -> meaning :=
  match i with
  | 0 => fun _ => (0, 0)
  | S i' => fix column j :=
      value R (i' =? 0) (x i j) (fst (means i' j)) (match j with 0 => 0 | S j' => snd (column j') end)
  end.

Definition carry_in (i j : nat) : nat := match j with 0 => 0 | S j' => snd (means i j') end.

Lemma means_is : forall i j, means (S i) j = value R (i =? 0) (x (S i) j) (fst (means i j)) (carry_in (S i) j).
Proof. intros i [|j]; reflexivity. Qed.

(* Whether nothing stands in row i from column j on to the left; whether cell (i, j) is blank, which the last one never
   is; and what row i should read as. *)
Definition empty_from (i j : nat) : bool := forallb (fun k => none R (means i k)) (seq j (W - j)).
Definition blank (i j : nat) : bool := negb (j =? 0) && empty_from i j.
Definition should_read (i : nat) : list (option nat) :=
  map (fun j => if blank i j then None else Some (fst (means i j))) (rev (seq 0 W)).

Definition low (i j : nat) : bool := match i with 0 => false | 1 => true | S i' => blank i' j end.
Definition kind_of (i j : nat) : kind := match i with 0 => Ground | _ => Cell (low i j) (shape_of (x i j)) end.

(* The left neighbour of cell (i, j) as it should be. *)
Definition left_neighbour (i j : nat) : option neighbour :=
  if S j <? W then Some (kind_of i (S j), means i (S j), blank i (S j)) else None.

Lemma empty_from_step : forall i j, j < W -> empty_from i j = none R (means i j) && empty_from i (S j).
Proof.
  intros i j lt. unfold empty_from. replace (W - j) with (S (W - S j)) by lia. reflexivity.
Qed.

Lemma empty_from_end : forall i, empty_from i W = true.
Proof. intros i. unfold empty_from. rewrite Nat.sub_diag. reflexivity. Qed.

Lemma empty_from_all : forall i j, empty_from i j = true <-> (forall k, j <= k -> k < W -> none R (means i k) = true).
Proof.
  intros i j. unfold empty_from. rewrite forallb_forall. split; intros all k.
  - intros from to. apply all. apply in_seq. lia.
  - intros among. apply in_seq in among. apply all; lia.
Qed.

(* A blank has only blanks to its left, so a low cell has only low cells to its left. *)
Lemma blank_goes_left : forall i j, S j < W -> blank i j = true -> blank i (S j) = true.
Proof.
  intros i j lt. unfold blank. rewrite !andb_true_iff. intros [_ all]. split; [reflexivity|].
  rewrite empty_from_step in all by lia. apply andb_true_iff in all. apply all.
Qed.

Lemma low_goes_left : forall i j, S j < W -> low i j = true -> low i (S j) = true.
Proof. intros [|[|i]] j lt; simpl; auto. apply blank_goes_left; assumption. Qed.

(* ---- Grids as placement fills them ---- *)

(* Row i holds a term: its digits at the right end, before them the sign, unless it is the first term; nothing in the
   first column. *)
Definition holds_term (i : nat) : Prop :=
  exists length, 1 <= length /\ length + 2 <= W
    /\ (forall j, j < length -> exists d, d < base R /\ x i j = Some (Digit d))
    /\ x i length = (if i =? 1 then None else Some Plus)
    /\ (forall j, length < j -> j < W -> x i j = None).

(* Row 0 is empty, rows 1 to N hold terms. *)
Definition filled (N : nat) : Prop := (forall j, j < W -> x 0 j = None) /\ (forall i, 1 <= i <= N -> holds_term i).

(* Whether a cell of kind [k] may have one of kind [right] on its right. *)
Definition fits (first : bool) (k right : kind) : bool :=
  match k, right with
  | Cell low s, Cell low_right s_right =>
      implb low_right low && implb first (low && low_right) &&
      match s, s_right with
      | WithDigit, WithDigit | WithNothing, WithNothing => true
      | WithPlus, WithDigit | WithNothing, WithPlus => negb first
      | WithNothing, WithDigit => first
      | _, _ => false
      end
  | _, _ => false
  end.

(* What the rule leaves out does not happen in the first N terms. This is what must be shown of every rule, by its
   arithmetic; where both predicates are [true] it is trivial. *)
Definition lawful (N : nat) : Prop :=
  (forall m, none R m = true -> fst m = 0)
  /\ (forall i j, 1 <= i <= N -> S j < W ->
        beside_right R (i =? 1) (kind_of i (S j)) (x i (S j)) (kind_of i j) (means i j) = true)
  /\ (forall i j, 1 <= i <= N -> 0 < j < W ->
        beside_left R (kind_of i j) (x i j) (means i j) (left_neighbour i j) = true).

Lemma in_last_column : forall i, holds_term i -> exists d, d < base R /\ x i 0 = Some (Digit d).
Proof. intros i (n & some & _ & digits & _). apply digits. lia. Qed.

Lemma in_first_column : forall i, holds_term i -> x i (W - 1) = None.
Proof. intros i (n & some & room & _ & _ & nothing). apply nothing; lia. Qed.

Lemma what_is_held : forall i j, holds_term i -> j < W ->
  (exists d, d < base R /\ x i j = Some (Digit d)) \/ x i j = Some Plus \/ x i j = None.
Proof.
  intros i j (n & some & room & digits & sign & nothing) lt.
  destruct (lt_eq_lt_dec j n) as [[less | equal] | more].
  - left. apply digits. assumption.
  - subst j. rewrite sign. destruct (i =? 1); auto.
  - right; right. apply nothing; assumption.
Qed.

Lemma neighbours_fit : forall i j, holds_term i -> 1 <= i -> S j < W ->
  fits (i =? 1) (kind_of i (S j)) (kind_of i j) = true.
Proof.
  intros i j (n & some & room & digits & sign & nothing) positive lt.
  assert (rising := low_goes_left i j lt).
  destruct i as [|i]; [lia|]. unfold kind_of, fits.
  assert (first : S i =? 1 = true -> low (S i) j = true /\ low (S i) (S j) = true).
  { intros one. apply Nat.eqb_eq in one. injection one as ->. split; reflexivity. }
  apply andb_true_iff; split; [apply andb_true_iff; split|].
  - destruct (low (S i) j); [rewrite rising by reflexivity|]; reflexivity.
  - destruct (S i =? 1); [destruct (first eq_refl) as [-> ->]|]; reflexivity.
  - destruct (lt_eq_lt_dec (S j) n) as [[less | equal] | more].
    + destruct (digits j) as (d & _ & ->); [lia|]. destruct (digits (S j)) as (e & _ & ->); [lia|]. reflexivity.
    + destruct (digits j) as (d & _ & ->); [lia|]. subst n. rewrite sign. destruct (S i =? 1); reflexivity.
    + rewrite (nothing (S j)) by lia. destruct (Nat.eq_dec j n) as [-> | other].
      * rewrite sign. destruct (S i =? 1); reflexivity.
      * rewrite nothing by lia. reflexivity.
Qed.

End Meaning.
